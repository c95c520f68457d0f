/** Model of one of the account's own applications, for the developer console. */

import type { Publisher } from '../../core/applications/application.ts'
import type { Sample } from '../ui/samples.tsx'
import type { ProposalModel } from './proposal.tsx'
import type { ScopeUse } from './scope-choice.tsx'
import type { VettingModel } from './vetting.tsx'

export type OwnApplicationModel = {
  readonly id: string
  readonly name: string
  /** Logo URL. */
  readonly logo: string | null
  readonly publisher: Publisher
  /** New name or logo that waits for an operator; users do not see it yet. */
  readonly proposal: ProposalModel | null
  /** Null: an operator does not need to look at it. */
  readonly vetting: VettingModel | null
  readonly createdOn: number
  readonly suspended: boolean
  readonly public: boolean
  readonly deviceFlow: boolean
  /** When the test mode that is on ends; null: it is off. */
  readonly testEndsAt: number | null
  readonly redirects: readonly string[]
  readonly scopes: readonly { readonly title: string; readonly name: string; readonly use: ScopeUse }[]
  /** Live secrets only. */
  readonly secrets: readonly {
    readonly id: string
    readonly label: string | null
    readonly createdOn: number
    readonly lastUsedOn: number | null
  }[]
  readonly maxSecrets: number
  readonly samples: readonly Sample[]
  readonly notice: null | 'saved' | 'revoked' | 'logo' | 'withdrawn' | 'test_mode_off' | 'vetting'
  readonly problem: null | 'too_many' | 'last' | 'test_mode_on'
}
