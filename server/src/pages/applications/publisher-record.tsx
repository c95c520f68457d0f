/** DNS record that verifies a publisher's domain, and the TXT values found by a check. */
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { ToCopy } from '../ui/to-copy.tsx'

export type RecordModel = { readonly domain: string; readonly name: string; readonly value: string }

type RecordProps = {
  readonly frame: Frame
  readonly id: string
  readonly record: RecordModel
  /** The last check found the record. */
  readonly proven: boolean
}

/** Fields are in the order in which the forms of DNS providers ask for them. */
export function RecordCard({ frame, id, record, proven }: RecordProps) {
  const { words } = frame
  const { domain, name, value } = record
  const label = name.slice(0, -(domain.length + 1))
  return (
    <section class="card stack" aria-labelledby="record">
      <h2 id="record">{words.t(proven ? 'publisher_page.record_proven' : 'publisher_page.record')}</h2>
      {!proven && <p>{words.t('publisher_page.record_text', { domain })}</p>}
      <ToCopy words={words} id="record-name" label={words.t('publisher_page.record_name')} text={name} />
      <div class="stack tight">
        <p class="strong">{words.t('publisher_page.record_type')}</p>
        <p class="technical">TXT</p>
      </div>
      <ToCopy words={words} id="record-value" label={words.t('publisher_page.record_value')} text={value} />
      {!proven && (
        <p class="hint">
          {words.rich('publisher_page.record_hint', {
            label,
            code: (chunks) => (
              <code class="technical" dir="ltr">
                {chunks}
              </code>
            ),
          })}
        </p>
      )}
      <Form
        frame={frame}
        action="/developer/application/publisher/check"
        bound={{ application: id, domain }}
        class="actions"
      >
        <button type="submit" class={proven ? 'button quiet' : 'button'}>
          {words.t('publisher_page.check')}
        </button>
      </Form>
    </section>
  )
}

/** TXT values found in DNS: third-party input, so limited in number and length. */
export function FoundTexts({ texts }: { readonly texts: readonly string[] }) {
  return (
    <ul class="titles">
      {texts.slice(0, MAX_TEXTS).map((text, index) => (
        <li key={index}>
          <bdi class="technical" dir="ltr">
            {shortened(text)}
          </bdi>
        </li>
      ))}
    </ul>
  )
}

const MAX_TEXTS = 3
const MAX_TEXT_LENGTH = 80

/** Replaces control, format and bidi characters by U+FFFD, so that a TXT value cannot distort the page. */
function shortened(text: string): string {
  const plain = text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd')
  return plain.length <= MAX_TEXT_LENGTH ? plain : `${plain.slice(0, MAX_TEXT_LENGTH)}…`
}
