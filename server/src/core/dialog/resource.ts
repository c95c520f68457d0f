/** `resource` parameter of RFC 8707, section 2: an absolute URI without a fragment. */
const ABSOLUTE_URI = /^[a-z][a-z0-9+.-]*:(?:[\w:/?@!$&'()*+,;=.~[\]-]|%[0-9a-f]{2})+$/i

export function isResource(text: string): boolean {
  return ABSOLUTE_URI.test(text) && URL.canParse(text)
}

export const BAD_RESOURCE = 'The resource must be an absolute URI without a fragment.'
