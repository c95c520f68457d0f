/** What has to be ended again after a restore, from the lines of the journal whose commits were lost. */
import {
  accessKinds,
  type EventLine,
  type GenerationLine,
  isEventLine,
  type JournalLine,
  subjectOf,
  type UseLine,
} from './journal-line.ts'

/** What had less access at the end of the lost time: whatever it has beyond `left` was taken away then. */
export type LeftAccess = {
  readonly subject: string
  readonly left: readonly string[]
  /** The last event about it. */
  readonly kind: EventLine['kind']
}

export type Replay = {
  readonly accounts: readonly string[]
  readonly erasedUsers: readonly string[]
  readonly disabledUsers: readonly string[]
  /** Their password was changed, and the new one is lost. */
  readonly passwords: readonly string[]
  /** All their sign-in methods were removed. */
  readonly resetUsers: readonly string[]
  readonly suspended: readonly string[]
  readonly deletedApplications: readonly string[]
  readonly secrets: readonly { readonly application: string; readonly secret: string }[]
  readonly managementKeys: readonly string[]
  readonly signingKeys: readonly number[]
  readonly access: readonly LeftAccess[]
  readonly grants: readonly { readonly id: string; readonly reason: string | null }[]
  /** The newest of each grant. */
  readonly generations: readonly GenerationLine[]
  readonly uses: readonly UseLine[]
  /** Grants that were made in the lost time. */
  readonly lostGrants: readonly string[]
}

/** Of several lines about the same thing the last one counts. Only what ends something is repeated. */
export function planReplay(lost: readonly JournalLine[]): Replay {
  const events = lost.filter(isEventLine).toSorted(byTime)
  const last = (subject: (line: EventLine) => string | undefined, ending: string, ...others: string[]) => {
    const states = new Map<string, EventLine>()
    for (const line of events) {
      const id = subject(line)
      if (id !== undefined && [ending, ...others].includes(line.kind)) states.set(id, line)
    }
    return [...states].filter(([, { kind }]) => kind === ending).map(([id, line]) => ({ id, line }))
  }
  const ids = (found: readonly { readonly id: string }[]) => found.map(({ id }) => id).toSorted()
  const account = ({ account: id }: EventLine) => id
  const user = ({ user: id }: EventLine) => id
  const application = ({ application: id }: EventLine) => id
  const grant = ({ grant: id }: EventLine) => id
  return {
    accounts: ids(last(account, 'account.closed')),
    erasedUsers: ids(last(user, 'user.erased')),
    disabledUsers: ids(last(user, 'user.disabled', 'user.enabled')),
    passwords: ids(last(user, 'user.password_set')),
    resetUsers: ids(last(user, 'user.reset')),
    suspended: ids(last(application, 'application.suspended', 'application.restored')),
    deletedApplications: ids(last(application, 'application.deleted')),
    secrets: events.flatMap(revokedSecrets),
    managementKeys: ids(last(({ managementKey }) => managementKey, 'management_key.revoked')),
    signingKeys: events.flatMap(({ kind, key }) => (kind === 'key.retired' && key !== undefined ? [key] : [])),
    access: accessOf(events),
    grants: last(grant, 'grant.revoked', 'grant.restored').map(({ id, line }) => ({ id, reason: line.reason ?? null })),
    generations: newestOfEach(lost.filter(isGenerationLine)),
    uses: newestOfEach(lost.filter((line) => line.kind === 'access_token')),
    lostGrants: ids(last(grant, 'grant.created')),
  }
}

/** A process that starts appends what another one did not write before it died: the journal is not in order of time. */
function byTime(one: EventLine, other: EventLine): number {
  if (one.at !== other.at) return one.at < other.at ? -1 : 1
  return one.event - other.event
}

function isGenerationLine(line: JournalLine): line is GenerationLine {
  return line.kind === 'refresh_token' || line.kind === 'access_key'
}

function revokedSecrets({ kind, application, secret, revokedSecrets: several = [] }: EventLine) {
  if (application === undefined || !kind.startsWith('application.secret_')) return []
  return [...(secret === undefined ? [] : [secret]), ...several].map((each) => ({ application, secret: each }))
}

/** In the order of their ids, in which they are locked. */
function accessOf(events: readonly EventLine[]): readonly LeftAccess[] {
  const bySubject = new Map<string, LeftAccess>()
  for (const line of events) {
    const subject = subjectOf(line)
    const changesAccess = (accessKinds as readonly string[]).includes(line.kind)
    if (changesAccess && subject !== undefined && line.left) {
      bySubject.set(subject, { subject, left: line.left, kind: line.kind })
    }
  }
  return [...bySubject.values()].toSorted((one, other) => (one.subject < other.subject ? -1 : 1))
}

/** A refresh token may be issued again with its generation, at a later time and under another key: the last line counts. */
function newestOfEach<Line extends GenerationLine | UseLine>(lines: readonly Line[]): readonly Line[] {
  const newest = new Map<string, Line>()
  for (const line of lines) {
    const subject = `${line.kind} ${line.grant}`
    if ((newest.get(subject)?.generation ?? 0) <= line.generation) newest.set(subject, line)
  }
  return [...newest.values()]
}
