/**
 * API reference on one page, generated from the OpenAPI description (http/openapi/). Always in English, like the names
 * on the wire.
 */
import { renderToString } from 'preact-render-to-string'
import { CopyButton } from '../ui/elements.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Inline, Prose } from '../ui/prose.tsx'
import { wordsFor } from '../ui/words.ts'

export type ReferenceField = {
  readonly name: string
  /** Remarks beside the name: `form, needed`, `integer`. */
  readonly notes: readonly string[]
  readonly description: string
}

export type ReferenceRefusal = {
  readonly status: string
  /** Error code as sent. */
  readonly error: string
  /** Error code in the other dialect, if it differs. */
  readonly otherwise: string | null
  readonly message: string
  readonly remedy: string
}

export type ReferenceAnswer = {
  readonly status: string
  readonly description: string
  readonly fields: readonly ReferenceField[]
  readonly headers: readonly ReferenceField[]
  readonly example: string | null
}

export type ReferenceOperation = {
  readonly id: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description: string
  readonly proof: string
  readonly parameters: readonly ReferenceField[]
  readonly answers: readonly ReferenceAnswer[]
  readonly refusals: readonly ReferenceRefusal[]
  readonly samples: readonly { readonly label: string; readonly source: string }[]
}

export type ReferenceGroup = {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly operations: readonly ReferenceOperation[]
}

export type ReferenceModel = {
  readonly title: string
  readonly description: string
  readonly publicUrl: string
  readonly groups: readonly ReferenceGroup[]
  /** Errors that any request may get. */
  readonly everywhere: readonly ReferenceRefusal[]
}

const TITLE = 'Interface reference'
const EVERYWHERE = 'What any request can be refused with'

/** For the texts of the page's buttons: the page is in English, whatever the reader's language. */
const english = wordsFor('en')

/** Rendered once because it is long and the same for every reader; each response puts it into its own frame. */
export function renderReference(model: ReferenceModel): string {
  return renderToString(
    <>
      <header class="stack tight">
        <h1>{TITLE}</h1>
        <Prose text={model.description} />
        <p>
          The address of this service is <code class="technical">{model.publicUrl}</code>. For tools:{' '}
          <a href="/openapi.json">the same as OpenAPI 3.1</a>.
        </p>
      </header>
      <Contents groups={model.groups} />
      {model.groups.map((group) => (
        <Group group={group} key={group.id} />
      ))}
      <section class="card stack" id="everywhere">
        <h2>{EVERYWHERE}</h2>
        <Refusals refusals={model.everywhere} />
      </section>
    </>,
  )
}

/** `rendered`: result of renderReference. */
export function referencePage(frame: Frame, rendered: string): string {
  // Safe: only HTML rendered by renderReference.
  const content = <div class="stack" lang="en" dir="ltr" dangerouslySetInnerHTML={{ __html: rendered }} />
  return page(frame, TITLE, content, { wide: true })
}

function Contents({ groups }: { readonly groups: readonly ReferenceGroup[] }) {
  return (
    <nav class="card stack tight" aria-label="Contents">
      {groups.map(({ id, name, operations }) => (
        <div key={id}>
          <a class="strong" href={`#${id}`}>
            {name}
          </a>
          <ul class="titles">
            {operations.map((operation) => (
              <li key={operation.id}>
                <a href={`#${operation.id}`}>{operation.summary}</a>
              </li>
            ))}
          </ul>
        </div>
      ))}
      <a class="strong" href="#everywhere">
        {EVERYWHERE}
      </a>
    </nav>
  )
}

function Group({ group }: { readonly group: ReferenceGroup }) {
  return (
    <section class="stack" id={group.id}>
      <div class="stack tight">
        <h2>{group.name}</h2>
        <Prose text={group.description} />
      </div>
      {group.operations.map((operation) => (
        <Operation operation={operation} key={operation.id} />
      ))}
    </section>
  )
}

function Operation({ operation }: { readonly operation: ReferenceOperation }) {
  const { id, method, path, parameters, answers, refusals, samples } = operation
  return (
    <article class="card stack" id={id}>
      <div class="stack tight">
        <h3>{operation.summary}</h3>
        <p>
          <span class="badge">{method}</span> <code class="technical strong">{path}</code>
        </p>
        <Prose text={operation.description} />
        <p class="soft">
          <Inline text={operation.proof} />
        </p>
      </div>
      {samples.map(({ label, source }) => (
        <Command label={samples.length > 1 ? label : null} source={source} key={source} />
      ))}
      {parameters.length > 0 && (
        <section class="stack tight">
          <p class="strong">Parameters</p>
          <Fields fields={parameters} />
        </section>
      )}
      {answers.map((answer) => (
        <Answer answer={answer} key={answer.status} />
      ))}
      {refusals.length > 0 && (
        <section class="stack tight">
          <p class="strong">What can go wrong</p>
          <Refusals refusals={refusals} />
          <p class="hint">
            Besides: <a href="#everywhere">what any request can be refused with</a>.
          </p>
        </section>
      )}
    </article>
  )
}

function Command({ label, source }: { readonly label: string | null; readonly source: string }) {
  return (
    <div class="stack tight">
      {label !== null && <p class="strong">{label}</p>}
      <div class="notice">
        <Lines text={source} />
      </div>
      <CopyButton words={english} text={source} />
    </div>
  )
}

/** Lines with `<br>` instead of a `<pre>`, so that long ones wrap on a phone. */
function Lines({ text }: { readonly text: string }) {
  return (
    <code class="technical">
      {text.split('\n').map((line, index) => (
        <>
          {index > 0 && <br />}
          {line.replace(/^ +/, (spaces) => '\u00a0'.repeat(spaces.length))}
        </>
      ))}
    </code>
  )
}

function Fields({ fields }: { readonly fields: readonly ReferenceField[] }) {
  return (
    <dl class="stack tight">
      {fields.map(({ name, notes, description }) => (
        <div key={name}>
          <dt>
            <code class="technical strong">{name}</code> <span class="hint">{notes.join(', ')}</span>
          </dt>
          {description !== '' && (
            <dd>
              <Inline text={description} />
            </dd>
          )}
        </div>
      ))}
    </dl>
  )
}

function Answer({ answer }: { readonly answer: ReferenceAnswer }) {
  return (
    <section class="stack tight">
      <p class="strong">Answer {answer.status}</p>
      <p>
        <Inline text={answer.description} />
      </p>
      {answer.fields.length > 0 && <Fields fields={answer.fields} />}
      {answer.headers.length > 0 && (
        <>
          <p class="strong">Headers</p>
          <Fields fields={answer.headers} />
        </>
      )}
      {answer.example !== null && (
        <div class="notice">
          <Lines text={answer.example} />
        </div>
      )}
    </section>
  )
}

function Refusals({ refusals }: { readonly refusals: readonly ReferenceRefusal[] }) {
  return (
    <dl class="stack tight">
      {refusals.map(({ status, error, otherwise, message, remedy }) => (
        <div key={error + message}>
          <dt>
            <code class="technical strong">{error}</code>{' '}
            <span class="hint">
              {status}
              {otherwise !== null && (
                <>
                  , <Inline text={otherwise} />
                </>
              )}
            </span>
          </dt>
          <dd>
            {message} <Inline text={remedy} />
          </dd>
        </div>
      ))}
    </dl>
  )
}
