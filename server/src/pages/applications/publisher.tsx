/** Publisher of an application: the service itself, verified, or unverified. States no more than was checked. */
import type { Publisher } from '../../core/applications/application.ts'
import { Icon } from '../ui/icon.tsx'
import type { Words } from '../ui/words.ts'

type PublisherProps = { readonly words: Words; readonly publisher: Publisher }

/** One line, for lists. */
export function PublisherLine({ words, publisher }: PublisherProps) {
  return (
    <span class={`publisher ${publisher.status}`}>
      <Icon name={publisher.status === 'unverified' ? 'unknown' : 'shield'} />
      <span>{publisherText(words, publisher)}</span>
    </span>
  )
}

function publisherText(words: Words, { status, name }: Publisher): string {
  if (status === 'unverified' && name === null) return words.t('publisher.unknown')
  return words.t(`publisher.${status}`, { name: name ?? '' })
}
