/** One page per operation of docs/openapi.yaml, in Markdown, and one that lists them. */
import {
  description,
  type Endpoint,
  isReference,
  listEndpoints,
  type Operation,
  type Response,
  resolve,
  type Schema,
} from './openapi.ts'
import type { Page } from './pages.ts'

const SOURCE = 'docs/openapi.yaml'
/** The same operations once more, with `.xml` after the path. */
const XML = 'XML'

export function readApiPages(): readonly Page[] {
  const endpoints = listEndpoints()
  const shown = endpoints.filter(({ operation }) => operation.tags[0] !== XML)
  const pages = shown.map((endpoint): Page => {
    const { operationId, summary, tags } = endpoint.operation
    const isShared = shown.filter(({ operation }) => operation.summary === summary).length > 1
    const title = isShared ? `${summary} (${endpoint.path})` : summary
    const hasXml = endpoints.some(({ path }) => path === `${endpoint.path}.xml`)
    return {
      source: `${SOURCE}#${operationId}`,
      slug: `api/${operationId.toLowerCase()}`,
      title,
      group: tags[0],
      method: endpoint.method,
      markdown: `# ${title}\n\n${renderEndpoint(endpoint, hasXml)}`,
    }
  })
  return [{ source: SOURCE, slug: 'api', title: 'HTTP API', markdown: renderOverview(shown) }, ...pages]
}

function renderOverview(endpoints: readonly Endpoint[]): string {
  const groups = description.tags
    .filter(({ name }) => name !== XML)
    .map(({ name, description: about }) => {
      const rows = endpoints
        .filter(({ operation }) => operation.tags[0] === name)
        .map(({ method, path, operation }) => [
          `[${operation.summary}](${SOURCE.slice('docs/'.length)}#${operation.operationId})`,
          `\`${method} ${path}\``,
        ])
      return `## ${name}\n\n${about}\n\n${renderTable(['Operation', 'Request'], rows)}`
    })
  return `# HTTP API\n\n${description.info.description}\n\n${groups.join('\n')}`
}

function renderEndpoint({ method, path, operation }: Endpoint, hasXml: boolean): string {
  const [sample] = operation['x-codeSamples']
  const parts = [
    `\`\`\`http\n${method} ${path}\n\`\`\``,
    operation.description,
    hasXml ? `\`${path}.xml\` is the same operation with an answer in [XML](interface.md#formats).` : '',
    `## Request\n\n${renderAuthentication(operation)}`,
    renderParameters(operation),
    sample ? `\`\`\`sh\n${sample.source}\n\`\`\`` : '',
    ...Object.entries(operation.responses).flatMap(([status, response]) =>
      /^[23]/.test(status) ? [renderSuccess(status, resolve(response))] : [],
    ),
    renderErrors(operation),
  ]
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`
}

function renderAuthentication({ security }: Operation): string {
  const names = security.flatMap((each) => Object.keys(each))
  const schemes = names.map((name) => description.components.securitySchemes[name]?.description)
  if (names[0] === 'applicationInForm') return 'Authentication: `SVCappid` and `SVCsecret` in the form.'
  return schemes.length === 0 ? 'No authentication.' : `Authentication: ${schemes.join(' ')}`
}

function renderParameters(operation: Operation): string {
  const { parameters = [], requestBody } = operation
  const form = requestBody && Object.values(resolve(requestBody).content)[0]?.schema
  const rows = [
    ...parameters.map(({ name, in: where, required = false, description: about, schema }) =>
      describeField(name, { ...schema, description: about ?? '' }, required, `in the ${where}`),
    ),
    ...fieldsOf(form),
  ]
  return rows.length === 0 ? '' : renderTable(['Parameter', 'Meaning'], rows)
}

function renderSuccess(status: string, { description: about, headers = {}, content = {} }: Response): string {
  const sent = Object.entries(headers).map(([name, { description: text = '', required = false, schema }]) =>
    describeField(name, { ...schema, description: text }, required),
  )
  const schema = resolve<Schema>(content['application/json']?.schema ?? {})
  const fields = fieldsOf(schema)
  const [example] = schema.examples ?? []
  const parts = [
    `## Response ${status}\n\n${about}`,
    sent.length === 0 ? '' : renderTable(['Header', 'Meaning'], sent),
    fields.length === 0 ? '' : renderTable(['Field', 'Meaning'], fields),
    fields.length === 0 || example === undefined ? '' : `\`\`\`json\n${JSON.stringify(example, null, 2)}\n\`\`\``,
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** Errors of this operation as a table; those that every operation has, by name. */
function renderErrors({ responses }: Operation): string {
  const own: string[][] = []
  const common: string[] = []
  for (const [status, response] of Object.entries(responses).filter(([each]) => !/^[23]/.test(each))) {
    for (const { examples = {} } of Object.values(resolve(response).content ?? {})) {
      for (const [code, { summary, description: remedy, value }] of Object.entries(examples)) {
        const link = `[\`${value.error}\`](errors.md#${code})`
        if (isReference(response)) common.push(link)
        else own.push([`${link}<br>HTTP ${status}`, `${summary} ${remedy}`])
      }
    }
  }
  const table = own.length === 0 ? '' : `${renderTable(['Error', 'Meaning'], own)}\n`
  const others = [...new Set(common)].join(', ')
  return `## Errors\n\n${table}${others === '' ? '' : `As for every request: ${others}.`}`
}

function fieldsOf({ properties = {}, required = [] }: Schema = {}): string[][] {
  return Object.entries(properties).map(([name, schema]) =>
    describeField(name, resolve<Schema>(schema), required.includes(name)),
  )
}

function describeField(name: string, schema: Schema, isRequired: boolean, where?: string): string[] {
  const { type = 'string', description: about = '', enum: values, examples = [] } = schema
  const kind = [type, ...(isRequired ? [] : ['optional']), ...(where ? [where] : [])].join(', ')
  const choice = values ? ` One of ${values.map((each) => `\`${each}\``).join(', ')}.` : ''
  const [example] = examples
  const shown = ['string', 'number', 'boolean'].includes(typeof example) && !values ? ` Example: \`${example}\`.` : ''
  return [`\`${name}\`<br>${kind}`, `${about}${choice}${shown}`]
}

function renderTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replace(/\n+/g, ' ').replace(/\|/g, '\\|')).join(' | ')} |`
  return `${[line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')}\n`
}
