/** Proposed name or logo that waits for an operator or was declined, shown to the application's developer. */
import { Avatar } from '../ui/avatar.tsx'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { Notice } from '../ui/notice.tsx'

export type ProposalModel = {
  /** Null: unchanged. */
  readonly name: string | null
  /** Null: unchanged. `address`: URL of the new logo; null: the logo is removed. */
  readonly logo: { readonly address: string | null } | null
  readonly since: number
  /** The operator's reason for declining; null while the proposal waits. */
  readonly declinedReason: string | null
}

type ProposalProps = { readonly frame: Frame; readonly id: string; readonly proposal: ProposalModel }

export function ProposalNotice({ frame, id, proposal }: ProposalProps) {
  const { words } = frame
  const { name, logo, declinedReason } = proposal
  const waits = declinedReason === null
  return (
    <Notice kind={waits ? 'info' : 'warning'} title={words.t(waits ? 'proposal.title' : 'proposal.declined')}>
      <p>{words.t(waits ? 'proposal.text' : 'proposal.declined_text')}</p>
      {!waits && (
        <div class="says">
          <blockquote dir="auto" class="spoken">
            {declinedReason}
          </blockquote>
        </div>
      )}
      <Facts>
        <Fact name={words.t('proposal.name')}>{name !== null && <bdi>{name}</bdi>}</Fact>
        <Fact name={words.t('proposal.logo')}>
          {logo && (logo.address === null ? words.t('proposal.no_logo') : <Avatar name="" logo={logo.address} />)}
        </Fact>
        <Fact name={words.t('proposal.since')}>
          <Day words={words} ms={proposal.since} />
        </Fact>
      </Facts>
      <Form frame={frame} action="/developer/application/proposal/withdraw" bound={{ application: id }}>
        <button type="submit" class="button quiet">
          {words.t(waits ? 'proposal.withdraw' : 'proposal.read')}
        </button>
      </Form>
    </Notice>
  )
}
