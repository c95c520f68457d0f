/** General part of the OpenAPI document: info and security schemes. */

export const about = {
  title: 'Latchkey',
  version: '1',
  summary: 'Hand third-party applications limited access, on the user’s say.',
  license: { name: 'MIT', identifier: 'MIT' },
  description: `Every request of an application is described here, with everything it can be answered.

Parameters go into the body, as \`application/x-www-form-urlencoded\` or \`multipart/form-data\`, in UTF-8. JSON bodies are not read. The native dialect takes parameters from the query of the address as well, but proxies write addresses down: keep secrets out of them. A name given twice is refused, in the query, the form, or once in each. Names that are not listed are ignored.

The native dialect (\`/auth/…\`, \`/me\`) can also be called with \`/1\` in front of the path, which names its version, and with \`.xml\` behind it for XML.

Every refusal has an \`error\`, which is a code that does not change, and a sentence for people, which may. Answers may get new fields: ignore those you do not know. No answer may be cached.`,
} as const

export const securitySchemes = {
  credential: {
    type: 'http',
    scheme: 'bearer',
    description: 'An access token (`lka_…`) or an access key (`lkk_…`), in the header and nowhere else.',
  },
  applicationInForm: {
    type: 'apiKey',
    in: 'query',
    name: 'SVCsecret',
    description:
      'The application’s own credentials, `SVCappid` and `SVCsecret`, as fields of the form: each operation lists them there. OpenAPI has no word for a secret in a form, and this entry only stands in for one. The query that it has to name works as well, but gets written down on the way; and a name given in both is refused.',
  },
  applicationBasic: {
    type: 'http',
    scheme: 'basic',
    description:
      'The application’s id and secret (`client_secret_basic`). They may be `client_id` and `client_secret` in the form instead (`client_secret_post`), but not both. A public application sends its `client_id` alone.',
  },
} as const
