/** Model of the /reference page, derived from the OpenAPI document alone. */
import type {
  ReferenceAnswer,
  ReferenceField,
  ReferenceGroup,
  ReferenceModel,
  ReferenceOperation,
  ReferenceRefusal,
} from '../../pages/reference/reference.tsx'
import type { OpenApiDocument, OperationObject, Reference, ResponseObject, Schema } from './document-types.ts'

export function referenceModel(document: OpenApiDocument): ReferenceModel {
  const { info, servers, tags } = document
  const all = operationsOf(document)
  return {
    title: info.title,
    description: info.description,
    publicUrl: servers[0]?.url ?? '',
    // The XML operations are left out: the general part says in one sentence how they differ.
    groups: tags.filter(({ name }) => name !== 'XML').map((tag) => group(tag, all)),
    everywhere: everywhere(document),
  }
}

type Found = { readonly tag: string; readonly operation: ReferenceOperation }

function operationsOf(document: OpenApiDocument): Found[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    (['get', 'post'] as const).flatMap((method) => {
      const operation = item[method]
      return operation ? [{ tag: operation.tags[0] ?? '', operation: describe(document, method, path, operation) }] : []
    }),
  )
}

function group(tag: { name: string; description: string }, all: readonly Found[]): ReferenceGroup {
  const operations = all.filter((each) => each.tag === tag.name).map(({ operation }) => operation)
  return { ...tag, id: tag.name.toLowerCase().replaceAll(' ', '-'), operations }
}

function describe(
  document: OpenApiDocument,
  method: string,
  path: string,
  operation: OperationObject,
): ReferenceOperation {
  const responses = Object.entries(operation.responses)
  const own = responses.flatMap(([status, response]) => ('$ref' in response ? [] : [{ status, response }]))
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    summary: operation.summary,
    description: operation.description,
    proof: proofOf(operation),
    parameters: parametersOf(document, operation),
    answers: own.filter(({ status, response }) => isAnswer(status, response)).map((each) => answer(document, each)),
    refusals: [
      ...own.flatMap(({ status, response }) => refusalsIn(status, response)),
      // 503 is the only shared refusal that not every operation has and that a client must handle.
      ...responses.filter(([status]) => status === '503').flatMap((each) => refusalsIn(...resolved(document, each))),
    ],
    samples: operation['x-codeSamples'] ?? [],
  }
}

/** An HTML page that shows an error counts as a response as well as a refusal. */
function isAnswer(status: string, { content }: ResponseObject): boolean {
  return status < '400' || content?.['text/html'] !== undefined
}

const PROOFS: Readonly<Record<string, string>> = {
  credential: 'Needs an access token or an access key in the `Authorization` header.',
  applicationInForm: 'The application proves itself by `SVCappid` and `SVCsecret`.',
  'applicationInForm or none':
    'The application proves itself by `SVCappid` and `SVCsecret`; a public one sends `SVCappid` alone.',
  applicationBasic: 'The application proves itself by HTTP Basic, or by `client_id` and `client_secret` in the form.',
  'applicationBasic or none':
    'The application proves itself by HTTP Basic, or by `client_id` and `client_secret` in the form; a public one sends `client_id` alone.',
  none: 'Needs no credentials.',
}

function proofOf({ security }: OperationObject): string {
  const names = security.map((requirement) => Object.keys(requirement)[0] ?? 'none')
  return PROOFS[names.join(' or ')] ?? ''
}

function parametersOf(document: OpenApiDocument, { parameters = [], requestBody }: OperationObject): ReferenceField[] {
  const listed = parameters.map(({ name, in: place, required, description = '', schema }) => ({
    name,
    notes: [place === 'header' ? 'header' : 'in the address', ...notesFor(schema, required)],
    description,
  }))
  if (!requestBody) return listed
  const body = document.components.requestBodies[nameIn(requestBody)]
  return [...fieldsOf(Object.values(body?.content ?? {})[0]?.schema ?? {}, true), ...listed]
}

function fieldsOf(schema: Schema, asked: boolean): ReferenceField[] {
  const required = (schema.required ?? []) as readonly string[]
  const properties = Object.entries((schema.properties ?? {}) as Readonly<Record<string, Schema>>)
  return properties.map(([name, property]) => ({
    name,
    notes: asked
      ? notesFor(property, required.includes(name))
      : [kindOf(property), ...(required.includes(name) ? [] : ['not always'])],
    description: String(property.description ?? ''),
  }))
}

function notesFor(schema: Schema, required: boolean): string[] {
  return [required ? 'required' : 'optional', ...('enum' in schema ? [kindOf(schema)] : [])]
}

function kindOf({ type, enum: values, const: only }: Schema): string {
  if (only !== undefined) return `always ${JSON.stringify(only)}`
  if (Array.isArray(values) && values.length < 5) return values.join(' or ')
  return type === 'array' ? 'list' : String(type)
}

function answer(
  document: OpenApiDocument,
  { status, response }: { readonly status: string; readonly response: ResponseObject },
): ReferenceAnswer {
  const { schema } = response.content?.['application/json'] ?? {}
  const named = schema && '$ref' in schema ? document.components.schemas[nameIn(schema as Reference)] : undefined
  const [example] = (named?.examples ?? []) as readonly unknown[]
  return {
    status,
    description: response.description,
    fields: named ? fieldsOf(named, false) : [],
    headers: Object.entries(response.headers ?? {}).map(([name, { description = '', required }]) => {
      return { name, notes: [required ? 'always' : 'not always'], description }
    }),
    example: example === undefined ? null : JSON.stringify(example, null, 2),
  }
}

function refusalsIn(status: string, { content = {} }: ResponseObject): ReferenceRefusal[] {
  const examples = Object.values(content).flatMap((media) => Object.entries(media.examples ?? {}))
  return examples.map(([code, { summary, description, value }]) => {
    const error = typeof value === 'object' && value !== null && 'error' in value ? String(value.error) : code
    const otherwise = error === code ? null : `in the native dialect \`${code}\``
    return {
      status: status === 'default' ? '' : `HTTP ${status}`,
      error,
      otherwise,
      message: summary,
      remedy: description,
    }
  })
}

/**
 * Refusals shared by all operations, read from the first POST operation, of the native dialect. 503 is listed with the
 * operations that can return it.
 */
function everywhere(document: OpenApiDocument): ReferenceRefusal[] {
  const [posted] = Object.values(document.paths).flatMap(({ post }) => post ?? [])
  const shared = Object.entries(posted?.responses ?? {}).filter(([status, each]) => '$ref' in each && status !== '503')
  return shared.flatMap((each) => refusalsIn(...resolved(document, each)))
}

function resolved(
  document: OpenApiDocument,
  [status, response]: readonly [string, ResponseObject | Reference],
): [string, ResponseObject] {
  return [
    status,
    '$ref' in response ? (document.components.responses[nameIn(response)] ?? { description: '' }) : response,
  ]
}

function nameIn({ $ref }: Reference): string {
  return $ref.split('/').at(-1) ?? ''
}
