/** Page about one user of the account: roles, sign-in methods, recovery link, disable and enable. */
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { MailWaits, Problems } from '../ui/notice.tsx'
import { strong } from '../ui/strong.tsx'
import { type PersonStatus, Status } from './person-status.tsx'
import { firstBoxOf, RoleChoice, type RoleOption } from './role-choice.tsx'

export type PersonModel = {
  readonly id: string
  readonly email: string
  readonly status: PersonStatus
  readonly you: boolean
  readonly roles: readonly RoleOption[]
  /** What the host service says besides; null: the account's users sign in here. */
  readonly host: { readonly name: string | null; readonly permissions: readonly string[] } | null
  /** Host of the identity provider at which the user signs in; null: not at one. */
  readonly provider: string | null
  readonly factors: { readonly password: boolean; readonly passkeys: number; readonly authenticator: boolean }
  readonly problem: null | 'last_administrator' | 'role' | 'too_many' | 'already_proposed' | 'only_operator'
}

type PartProps = { readonly frame: Frame; readonly model: PersonModel }

export function personPage(frame: Frame, model: PersonModel): string {
  const { words } = frame
  const { email, status, roles, problem } = model
  const wrong = problem && words.t(`person.problem_${problem}`)
  const wrongRoles = problem === 'role' || problem === 'last_administrator' ? wrong : null
  return page(
    frame,
    email,
    <>
      <Problems words={words} problems={wrong ? [{ field: wrongRoles && firstBoxOf(roles), text: wrong }] : []} />
      <header class="stack tight">
        <div class="heading">
          <h1>
            <bdi>{email}</bdi>
          </h1>
          <Status words={words} status={status} />
        </div>
        <p class="soft">{words.t(model.you ? 'person.you' : `person.is_${status}`)}</p>
        {frame.user?.operator && <p>{words.t('person.two_operators')}</p>}
      </header>
      {model.host === null ? (
        <Roles frame={frame} model={model} wrong={wrongRoles} />
      ) : (
        <FromHost frame={frame} model={model} />
      )}
      {model.you ? (
        model.host === null && <YourFactors frame={frame} />
      ) : (
        <>
          {status !== 'disabled' && model.host === null && <SignIn frame={frame} model={model} />}
          {status === 'disabled' ? <Enable frame={frame} model={model} /> : <Disable frame={frame} model={model} />}
        </>
      )}
    </>,
    { wide: true, problem: problem !== null },
  )
}

function Roles({ frame, model, wrong }: PartProps & { readonly wrong: string | null }) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="roles">
      <Form frame={frame} action="/account/person" bound={{ user: model.id }} class="stack">
        <RoleChoice
          words={words}
          legend={<h2 id="roles">{words.t(model.you ? 'person.roles_you' : 'person.roles')}</h2>}
          roles={model.roles}
          problem={wrong}
        />
        {model.you && <p class="hint">{words.t('person.your_roles')}</p>}
        <p class="actions">
          <button type="submit" class="button">
            {words.t('person.save')}
          </button>
          <a href="/account/people">{words.t('person.back')}</a>
        </p>
      </Form>
    </section>
  )
}

/** Roles and permissions of a user who signs in at the host service, which decides about them. */
function FromHost({ frame, model }: PartProps) {
  const { words, signInAt } = frame
  const roles = model.roles.filter(({ checked }) => checked).map(({ name }) => name)
  const permissions = model.host?.permissions ?? []
  return (
    <section class="card stack" aria-labelledby="roles">
      <h2 id="roles">{words.t('person.roles')}</h2>
      <p>{words.t('person.host', { host: signInAt ?? '' })}</p>
      <Facts>
        <Fact name={words.t('person.name')}>{model.host?.name && <bdi>{model.host.name}</bdi>}</Fact>
        <Fact name={words.t('person.roles')}>
          {roles.length > 0 ? <bdi>{words.list(roles)}</bdi> : permissions.length === 0 && words.t('people.no_role')}
        </Fact>
        <Fact name={words.t('person.permissions')}>{permissions.length > 0 && words.list(permissions)}</Fact>
      </Facts>
    </section>
  )
}

function YourFactors({ frame: { words } }: { readonly frame: Frame }) {
  return (
    <section class="card stack tight" aria-labelledby="factors">
      <h2 id="factors">{words.t('person.factors_you')}</h2>
      <p>{words.rich('person.your_factors', { a: (chunks) => <a href="/security">{chunks}</a> })}</p>
    </section>
  )
}

function SignIn({ frame, model }: PartProps) {
  const { words } = frame
  const { email, factors } = model
  if (model.status === 'invited') {
    return (
      <section class="card stack" aria-labelledby="factors">
        <h2 id="factors">{words.t('person.invitation')}</h2>
        <p>{words.t('person.invitation_text')}</p>
        <MailWaits frame={frame} />
        <Form frame={frame} action="/account/person/send-link" bound={{ user: model.id }} class="actions">
          <button type="submit" class="button quiet">
            {words.t('person.invite_again')}
          </button>
        </Form>
      </section>
    )
  }
  return (
    <section class="card stack" aria-labelledby="factors">
      <h2 id="factors">{words.t('person.factors')}</h2>
      {model.provider !== null ? (
        <p>{words.t('person.provider', { host: model.provider })}</p>
      ) : (
        <Facts>
          <Fact name={words.t('person.password')}>
            {words.t(factors.password ? 'person.password_set' : 'person.password_none')}
          </Fact>
          <Fact name={words.t('person.passkeys')}>{words.t('person.passkeys_count', { count: factors.passkeys })}</Fact>
          <Fact name={words.t('person.authenticator')}>
            {words.t(factors.authenticator ? 'person.authenticator_set' : 'person.authenticator_none')}
          </Fact>
        </Facts>
      )}
      <div class="stack tight">
        <h3>{words.t('person.link')}</h3>
        <p>{words.t('person.link_text')}</p>
        <MailWaits frame={frame} />
      </div>
      <AreYouSure label={words.t('person.link_send')} question={words.rich('person.link_sure', { email, b: strong })}>
        <Form frame={frame} action="/account/person/send-link" bound={{ user: model.id }} class="actions">
          <button type="submit" class="button danger">
            {words.t('person.link_yes')}
          </button>
        </Form>
      </AreYouSure>
    </section>
  )
}

function Disable({ frame, model }: PartProps) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="disable">
      <h2 id="disable">{words.t('person.disable')}</h2>
      <p>{words.t('person.disable_text')}</p>
      <AreYouSure
        label={words.t('person.disable_button')}
        question={words.rich('person.disable_sure', { email: model.email, b: strong })}
      >
        <Form frame={frame} action="/account/person/disable" bound={{ user: model.id }} class="actions">
          <button type="submit" class="button danger">
            {words.t('person.disable_yes')}
          </button>
        </Form>
      </AreYouSure>
    </section>
  )
}

function Enable({ frame, model }: PartProps) {
  const { words } = frame
  return (
    <section class="card stack" aria-labelledby="enable">
      <h2 id="enable">{words.t('person.enable')}</h2>
      <p>{words.t('person.enable_text')}</p>
      <Form frame={frame} action="/account/person/enable" bound={{ user: model.id }} class="actions">
        <button type="submit" class="button">
          {words.t('person.enable_button')}
        </button>
      </Form>
    </section>
  )
}
