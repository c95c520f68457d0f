/** One entry of the audit log: a sentence, the actor and the time, then the details. */
import { isAuditDetail } from '../../core/audit/detail.ts'
import type { AuditEntry } from '../../core/audit/entry.ts'
import { isAuditKind } from '../../core/audit/kind.ts'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import type { Words } from '../ui/words.ts'
import { reasonText } from './reason.ts'

export function AuditLine({ words, entry }: { readonly words: Words; readonly entry: AuditEntry }) {
  const { who, account } = entry
  return (
    <li>
      <div>
        <p class="strong">{sentence(words, entry)}</p>
        <p class="hint">
          {'name' in who ? <bdi>{who.name ?? words.t('audit.unknown')}</bdi> : words.t(`audit.who_${who.is}`)}
          {account !== null && (
            <>
              {' · '}
              <bdi>{account}</bdi>
            </>
          )}
          {' · '}
          <Moment words={words} ms={entry.at} />
        </p>
        <Details words={words} entry={entry} />
      </div>
    </li>
  )
}

/** Unknown kinds are shown raw: a newer version may have written them. */
function sentence(words: Words, { kind, person, application, detail }: AuditEntry): string {
  if (!isAuditKind(kind)) return kind
  const named = (name: unknown) => (typeof name === 'string' ? name : words.t('audit.unknown'))
  return words.t(`audit_kind.${kind}`, {
    person: named(person),
    application: named(application),
    // A removed role can no longer be looked up; its name is in the detail.
    role: named(detail.name ?? detail.role),
    scope: named(detail.scope),
  })
}

function Details({ words, entry }: { readonly words: Words; readonly entry: AuditEntry }) {
  const { id, position, person, application, applicationId, grantId, deviceCodeId, requestId } = entry
  return (
    <details class="more">
      <summary>
        {words.t('audit.details')}{' '}
        <span class="visually-hidden">{words.t('audit.details_of', { number: String(id) })}</span>
      </summary>
      <Facts>
        <Fact name={words.t('audit.person')}>{person && <bdi>{person}</bdi>}</Fact>
        <Fact name={words.t('audit.application')}>
          {application && (
            <>
              <bdi>{application}</bdi> {applicationId !== application && <Technical text={applicationId ?? ''} />}
            </>
          )}
        </Fact>
        {Object.entries(entry.detail).map(([name, value]) => (
          <Fact name={isAuditDetail(name) ? words.t(`audit_detail.${name}`) : name} key={name}>
            <Value words={words} name={name} value={value} />
          </Fact>
        ))}
        <Fact name={words.t('audit.grant')}>{grantId && <Technical text={grantId} />}</Fact>
        <Fact name={words.t('audit.device_code')}>{deviceCodeId && <Technical text={deviceCodeId} />}</Fact>
        <Fact name={words.t('audit.request')}>{requestId && <Technical text={requestId} />}</Fact>
        <Fact name={words.t('audit.kind_id')}>
          <Technical text={entry.kind} />
        </Fact>
        <Fact name={words.t('audit.entry')}>{String(id)}</Fact>
        <Fact name={words.t('audit.sealed_at')}>
          {position === null ? words.t('audit.not_sealed') : words.t('audit.position', { position })}
        </Fact>
      </Facts>
    </details>
  )
}

type ValueProps = { readonly words: Words; readonly name: string; readonly value: unknown }

/** Translated reasons; any other value as recorded. */
function Value({ words, name, value }: ValueProps) {
  const reason = name === 'reason' ? reasonText(words, value) : null
  if (reason !== null) return <>{reason}</>
  if (Array.isArray(value)) return value.length === 0 ? null : <Technical text={value.map(textOf).join(', ')} />
  return <Technical text={textOf(value)} />
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function Technical({ text }: { readonly text: string }) {
  return <bdi class="technical">{text}</bdi>
}
