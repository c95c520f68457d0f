/** What waits for an administrator, on the home page: one line each, with the page where it is dealt with. */
import type { AccountAttention, OwnMatter } from '../../core/accounts/attention.ts'
import { AttentionList } from '../operator/attention.tsx'
import type { Words } from '../ui/words.ts'

const PAGES: Readonly<Record<OwnMatter, string>> = {
  suspended: '/developer/application',
  warned: '/developer/application/activity',
  webhooks: '/developer/application/webhooks',
  webhook_secret: '/developer/application/webhooks',
  declined: '/developer/application',
}

type AttentionProps = { readonly words: Words; readonly attention: AccountAttention }

/** Nothing, if nothing waits. */
export function AccountAttentionCard({ words, attention }: AttentionProps) {
  const { applications, further, withoutSecondFactor, addressChanges, fewEmergencyAdministrators } = attention
  const lines = [
    ...applications.map(({ id, name, matter }) => (
      <a href={`${PAGES[matter]}?application=${encodeURIComponent(id)}`}>
        {words.t(`attention.own_${matter}`, { name })}
      </a>
    )),
    further > 0 && <a href="/developer">{words.t('attention.own_further', { count: further })}</a>,
    withoutSecondFactor > 0 && (
      <a href="/account/people">{words.t('attention.second_factor', { count: withoutSecondFactor })}</a>
    ),
    addressChanges > 0 && (
      <a href="/account/people/addresses">{words.t('people.addresses', { count: addressChanges })}</a>
    ),
    fewEmergencyAdministrators && <a href="/account/provider">{words.t('attention.emergency_administrators')}</a>,
  ].filter((line) => line !== false)
  return lines.length === 0 ? null : <AttentionList words={words} lines={lines} />
}
