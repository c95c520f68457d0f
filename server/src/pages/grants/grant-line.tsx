/** One grant in a list: one fact per line, and the link that removes it. */

import type { Publisher } from '../../core/applications/application.ts'
import { PublisherLine } from '../applications/publisher.tsx'
import { Avatar } from '../ui/avatar.tsx'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts, Titles } from '../ui/facts.tsx'
import type { Words } from '../ui/words.ts'

export type GrantLine = {
  readonly id: string
  readonly application: string
  readonly publisher: Publisher
  /** Logo URL. */
  readonly logo: string | null
  /** Titles of the scopes that are effective now. */
  readonly can: readonly string[]
  readonly connectedOn: number
  /** `code`: device flow. `dialog`: window opened by the application. */
  readonly by: 'code' | 'dialog'
  readonly lastUsedOn: number | null
  readonly variant: 'token_set' | 'access_key'
  /** A token set ends after this many days without use. */
  readonly unusedDays: number
  /** A token set ends after this many days in any case. */
  readonly maxDays: number
  /** The last characters of its access key. */
  readonly keyEnding: string | null
  /** Place from which the access was requested. */
  readonly place: string | null
  readonly suspended: boolean
  /** Made in test mode. */
  readonly test: boolean
  /** Owner of the grant; only on the administrators' pages. */
  readonly user?: string
}

type GrantProps = { readonly words: Words; readonly grant: GrantLine }

export function GrantFacts({ words, grant }: GrantProps) {
  const { user, lastUsedOn, keyEnding } = grant
  return (
    <Facts>
      <Fact name={words.t('grant.user')}>{user && <bdi>{user}</bdi>}</Fact>
      <Fact name={words.t('grant.publisher')}>
        <PublisherLine words={words} publisher={grant.publisher} />
      </Fact>
      <Fact name={words.t('grant.can')}>
        {grant.can.length === 0 ? words.t('grant.can_nothing') : <Titles titles={grant.can} />}
      </Fact>
      <Fact name={words.t('grant.connected_on')}>
        <Day words={words} ms={grant.connectedOn} />
      </Fact>
      <Fact name={words.t('grant.last_used')}>
        {lastUsedOn === null ? words.t('grant.not_used') : <Day words={words} ms={lastUsedOn} />}
      </Fact>
      <Fact name={words.t('grant.how')}>{words.t(`grant.how_${grant.by}`)}</Fact>
      <Fact name={words.t('grant.key')}>{keyEnding && <bdi class="strong">{keyEnding}</bdi>}</Fact>
      <Fact name={words.t('grant.place')}>{grant.place && <bdi>{grant.place}</bdi>}</Fact>
      <Fact name={words.t('grant.lasts')}>
        {words.t(`grant.lasts_${grant.variant}`, { days: grant.unusedDays, longest: grant.maxDays })}
      </Fact>
    </Facts>
  )
}

type GrantListProps = {
  readonly words: Words
  readonly grants: readonly GrantLine[]
  /** Path of the confirmation page for a removal. */
  readonly remove: string
}

export function GrantList({ words, grants, remove }: GrantListProps) {
  return (
    <ul class="cards">
      {grants.map((grant) => (
        <li class="card stack" key={grant.id}>
          <div class="heading">
            <div class="named">
              <Avatar name={grant.application} logo={grant.logo} />
              <h2 id={`grant-${grant.id}`}>
                <bdi>{grant.application}</bdi>
              </h2>
            </div>
            {grant.suspended && <span class="badge warning">{words.t('grant.suspended')}</span>}
            {grant.test && <span class="badge">{words.t('grant.test')}</span>}
          </div>
          {grant.suspended && <p class="soft">{words.t('grant.suspended_text')}</p>}
          {grant.test && <p class="soft">{words.t('grant.test_text')}</p>}
          <GrantFacts words={words} grant={grant} />
          <p class="actions">
            <a
              class="button quiet"
              href={`${remove}?grant=${encodeURIComponent(grant.id)}`}
              id={`remove-${grant.id}`}
              aria-labelledby={`remove-${grant.id} grant-${grant.id}`}
            >
              {words.t('grant.remove')}
            </a>
          </p>
        </li>
      ))}
    </ul>
  )
}

/** Link to the next page of the list, if there is one. */
export function OlderGrants({
  words,
  path,
  after,
}: {
  readonly words: Words
  readonly path: string
  readonly after: string | null
}) {
  if (after === null) return null
  return (
    <p class="actions">
      <a class="button quiet" href={`${path}?after=${encodeURIComponent(after)}`} rel="next">
        {words.t('grant.older')}
      </a>
    </p>
  )
}
