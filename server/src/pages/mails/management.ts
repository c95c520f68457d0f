/** Mails about what programs did with management keys, or others did without a page. */
import type { MadeBy } from '../../core/mail.ts'
import type { Words } from '../ui/words.ts'
import type { Block } from './block.ts'

export type ManagementMail =
  /** To administrators: a user became one, and none of them did that on a page. The link leads to the user. */
  | { readonly kind: 'administrator_made'; readonly who: string; readonly by: MadeBy; readonly link: string }
  /** To the address that the user has now. The link changes or keeps it. */
  | { readonly kind: 'address_change'; readonly pendingEmail: string; readonly link: string }
  /** To administrators. The link leads to the pending changes. */
  | { readonly kind: 'address_changes'; readonly link: string }
  /** To administrators or operators. The link leads to the key. */
  | {
      readonly kind: 'key_network'
      readonly label: string
      readonly network: string
      readonly at: number
      readonly link: string
    }

export function composeManagement(
  words: Words,
  mail: ManagementMail,
  { accountHost: name, email }: { readonly accountHost: string; readonly email: string },
): readonly [string, ...Block[]] {
  const { link } = mail
  switch (mail.kind) {
    case 'administrator_made':
      return [
        words.t('mail.administrator_made_subject', { name }),
        { says: words.t('mail.administrator_made_text', { name, who: mail.who }) },
        { facts: [[words.t('mail.administrator_made_by'), words.t(`mail.made_by_${mail.by}`)]] },
        { says: words.t('mail.administrator_made_what') },
        { link, label: words.t('mail.administrator_made_link') },
      ]
    case 'address_change':
      return [
        words.t('mail.address_change_subject', { name }),
        { says: words.t('mail.address_change_text', { name }) },
        {
          facts: [
            [words.t('mail.address_change_now'), email],
            [words.t('mail.address_change_new'), mail.pendingEmail],
          ],
        },
        { says: words.t('mail.address_change_what', { name }) },
        { link, label: words.t('mail.address_change_link') },
      ]
    case 'address_changes':
      return [
        words.t('mail.address_changes_subject', { name }),
        { says: words.t('mail.address_changes_text', { name }) },
        { link, label: words.t('mail.address_changes_link') },
      ]
    case 'key_network':
      return [
        words.t('mail.key_network_subject', { name }),
        { says: words.t('mail.key_network_text', { name, when: words.moment(mail.at) }) },
        {
          facts: [
            [words.t('key.title'), mail.label],
            [words.t('audit_detail.network'), mail.network],
          ],
        },
        { says: words.t('mail.key_network_what') },
        { link, label: words.t('mail.key_network_link') },
      ]
  }
}
