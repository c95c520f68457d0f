/** Types for the part of OpenAPI 3.1 that the document uses. */

export type Schema = Readonly<Record<string, unknown>>

export type Example = { readonly summary: string; readonly description: string; readonly value: unknown }

export type MediaType = { readonly schema: Schema; readonly examples?: Readonly<Record<string, Example>> }

export type Header = { readonly description?: string; readonly required?: boolean; readonly schema: Schema }

export type ResponseObject = {
  readonly description: string
  readonly headers?: Readonly<Record<string, Header>>
  readonly content?: Readonly<Record<string, MediaType>>
}

export type Reference = { readonly $ref: string }

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: Schema
}

export type RequestBody = { readonly required: boolean; readonly content: Readonly<Record<string, MediaType>> }

export type OperationObject = {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Reference
  readonly responses: Readonly<Record<string, ResponseObject | Reference>>
  /** Shell commands to copy; an extension that Redoc and others read. */
  readonly 'x-codeSamples'?: readonly { readonly lang: string; readonly label: string; readonly source: string }[]
}

export type DocumentMethod = 'get' | 'post' | 'put' | 'patch' | 'delete'

export type PathItem = Readonly<Partial<Record<DocumentMethod, OperationObject>>> & {
  readonly servers?: readonly { readonly url: string; readonly description: string }[]
}

export type OpenApiDocument = {
  readonly openapi: '3.1.1'
  readonly info: {
    readonly title: string
    readonly version: string
    readonly summary: string
    readonly description: string
  } & Schema
  readonly servers: readonly { readonly url: string }[]
  readonly externalDocs: { readonly url: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly requestBodies: Readonly<Record<string, RequestBody>>
    readonly responses: Readonly<Record<string, ResponseObject>>
    readonly securitySchemes: Readonly<Record<string, Schema>>
  }
}
