/** One of the account's own applications, as the developer console shows it. */
import type { Sample } from '../ui/samples.tsx'
import type { ProposalModel } from './proposal.tsx'
import type { Publisher } from './publisher.tsx'
import type { ScopeUse } from './scope-choice.tsx'

export type OwnApplicationModel = {
  readonly id: string
  readonly name: string
  /** The address of its logo. */
  readonly logo: string | null
  readonly publisher: Publisher
  /** A new name or logo that people do not see yet. */
  readonly proposal: ProposalModel | null
  readonly createdOn: number
  readonly suspended: boolean
  readonly public: boolean
  readonly deviceFlow: boolean
  readonly testMode: boolean
  readonly redirects: readonly string[]
  readonly scopes: readonly { readonly title: string; readonly name: string; readonly use: ScopeUse }[]
  /** Live ones. */
  readonly secrets: readonly {
    readonly id: string
    readonly label: string | null
    readonly createdOn: number
    readonly lastUsedOn: number | null
  }[]
  readonly maxSecrets: number
  readonly samples: readonly Sample[]
  readonly notice: null | 'saved' | 'revoked' | 'logo' | 'withdrawn'
  readonly problem: null | 'too_many' | 'last'
}
