/** Page of an account's identity provider: address and client, who comes in with which roles, test, on and off. */
import {
  type Admission,
  admissions,
  type ProviderProblem,
  type ProviderState,
  providerProblems,
  providerStates,
} from '../../core/provider/provider.ts'
import { ELSEWHERE_SESSION_MS } from '../../core/sign-in/origin.ts'
import { Checkbox, Field } from '../ui/field.tsx'
import { Radio, Select } from '../ui/field-kinds.tsx'
import { Folded } from '../ui/folded.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { ToCopy } from '../ui/to-copy.tsx'

/** Of roles and of administrators; the rest unfolds. */
const MAX_SHOWN = 5

/** The field at which the problem is shown. */
const FIELDS = {
  client_id: 'client_id',
  client_secret: 'client_secret',
  domains: 'domains',
  domain_needed: 'domains',
  default_role: 'default_role',
  role_claim: 'role_claim',
  break_glass: null,
  no_own_administrator: null,
} as const

type FieldProblem = keyof typeof FIELDS

export type ProviderModel = {
  /** Something was saved before: it can be tested, and its secret need not be typed again. */
  readonly stored: boolean
  readonly state: ProviderState
  readonly issuer: string
  readonly clientId: string
  readonly domains: string
  readonly admission: Admission
  readonly defaultRole: string
  readonly roleClaim: string
  readonly roles: readonly {
    readonly id: string
    readonly name: string
    /** Of the claim. */
    readonly value: string
    readonly canBeDefault: boolean
  }[]
  readonly administrators: readonly { readonly id: string; readonly email: string; readonly chosen: boolean }[]
  readonly redirectUri: string
  readonly logoutUri: string
  readonly problem: null | ProviderProblem | FieldProblem
  readonly notice: null | 'saved' | 'tested'
}

type PartProps = { readonly frame: Frame; readonly model: ProviderModel }

export function providerPage(frame: Frame, model: ProviderModel): string {
  const { words } = frame
  const { problem, notice } = model
  const wrong = problem && problemText(frame, problem)
  const field = problem && fieldOf(problem)
  return page(
    frame,
    words.t('provider.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field, text: wrong }] : []} />
      {notice && !wrong && <Notice kind="success">{words.t(`provider.notice_${notice}`)}</Notice>}
      <header class="stack tight">
        <h1>{words.t('provider.title')}</h1>
        <p class="soft">{words.t('provider.text', { name: frame.account?.name ?? '' })}</p>
      </header>
      <section class="card stack" aria-labelledby="register">
        <h2 id="register">{words.t('provider.register')}</h2>
        <p>{words.t('provider.register_text')}</p>
        <div class="beside">
          <ToCopy words={words} id="redirect-uri" label={words.t('provider.redirect_uri')} text={model.redirectUri} />
          <ToCopy words={words} id="logout-uri" label={words.t('provider.logout_uri')} text={model.logoutUri} />
        </div>
        <p class="hint">{words.t('provider.logout_text', { hours: ELSEWHERE_SESSION_MS / 3_600_000 })}</p>
      </section>
      <Form frame={frame} action="/account/provider" class="stack">
        <div class="beside">
          <div class="card stack">
            <Client frame={frame} model={model} wrong={wrong} />
            <Admissions frame={frame} model={model} wrong={wrong} />
          </div>
          <div class="card stack">
            <RoleValues frame={frame} model={model} wrong={wrong} />
            <State frame={frame} model={model} />
          </div>
        </div>
        <p class="actions">
          <button type="submit" class="button">
            {words.t('provider.save')}
          </button>
        </p>
      </Form>
      {model.stored && (
        <Form frame={frame} action="/account/provider/test" class="card stack">
          <p>{words.t('provider.test_text')}</p>
          <p class="actions">
            <button type="submit" class="button quiet">
              {words.t('provider.test')}
            </button>
          </p>
        </Form>
      )}
    </>,
    { wide: true, problem: wrong !== null },
  )
}

function isConnectionProblem(problem: ProviderProblem | FieldProblem): problem is ProviderProblem {
  return providerProblems.some((each) => each === problem)
}

function problemText({ words }: Frame, problem: ProviderProblem | FieldProblem): string {
  return words.t(isConnectionProblem(problem) ? `provider_problem.${problem}` : `provider.wrong_${problem}`)
}

/** About the connection: the issuer, except where the client is concerned. */
function fieldOf(problem: ProviderProblem | FieldProblem): string | null {
  if (!isConnectionProblem(problem)) return FIELDS[problem]
  return problem === 'client_refused' || problem === 'secret_lost' ? 'client_secret' : 'issuer'
}

type WrongProps = PartProps & { readonly wrong: string | null }

function at({ model, wrong }: WrongProps, field: string): string | null {
  return model.problem !== null && fieldOf(model.problem) === field ? wrong : null
}

function Client(props: WrongProps) {
  const { frame, model } = props
  const { words } = frame
  return (
    <fieldset class="stack">
      <legend>
        <h2>{words.t('provider.client')}</h2>
      </legend>
      <Field
        id="issuer"
        label={words.t('provider.issuer')}
        hint={words.t('provider.issuer_hint')}
        value={model.issuer}
        autocomplete="off"
        ltr
        problem={at(props, 'issuer')}
      />
      <Field
        id="client_id"
        label={words.t('provider.client_id')}
        value={model.clientId}
        autocomplete="off"
        ltr
        problem={at(props, 'client_id')}
      />
      <Field
        id="client_secret"
        type="password"
        label={words.t('provider.client_secret')}
        hint={words.t(model.stored ? 'provider.client_secret_stored' : 'provider.client_secret_hint')}
        autocomplete="off"
        problem={at(props, 'client_secret')}
      />
    </fieldset>
  )
}

function Admissions(props: WrongProps) {
  const { frame, model } = props
  const { words } = frame
  const none = { value: '', text: words.t('provider.no_role') }
  const choices = model.roles.filter(({ canBeDefault }) => canBeDefault)
  return (
    <fieldset class="stack">
      <legend>{words.t('provider.admission')}</legend>
      {admissions.map((each) => (
        <Radio
          name="admission"
          value={each}
          label={words.t(`provider.admission_${each}`)}
          hint={words.t(`provider.admission_${each}_hint`)}
          checked={model.admission === each}
          key={each}
        />
      ))}
      <Field
        id="domains"
        label={words.t('provider.domains')}
        hint={words.t('provider.domains_hint')}
        value={model.domains}
        autocomplete="off"
        ltr
        problem={at(props, 'domains')}
      />
      <Select
        id="default_role"
        label={words.t('provider.default_role')}
        hint={words.t('provider.default_role_hint')}
        options={[none, ...choices.map(({ id, name }) => ({ value: id, text: name }))]}
        value={model.defaultRole}
        problem={at(props, 'default_role')}
      />
    </fieldset>
  )
}

function RoleValues(props: WrongProps) {
  const { frame, model } = props
  const { words } = frame
  return (
    <fieldset class="stack">
      <legend>
        <h2>{words.t('provider.roles')}</h2>
      </legend>
      <Field
        id="role_claim"
        label={words.t('provider.role_claim')}
        hint={words.t('provider.role_claim_hint')}
        value={model.roleClaim}
        autocomplete="off"
        ltr
        problem={at(props, 'role_claim')}
      />
      <Folded
        words={words}
        items={model.roles}
        shown={MAX_SHOWN}
        render={(roles) =>
          roles.map(({ id, name, value }) => (
            <Field
              id={`value-${id}`}
              name={`value.${id}`}
              label={words.t('provider.role_value', { role: name })}
              value={value}
              autocomplete="off"
              key={id}
            />
          ))
        }
      />
    </fieldset>
  )
}

function State({ frame, model }: PartProps) {
  const { words } = frame
  return (
    <>
      <fieldset class="stack">
        <legend>{words.t('provider.break_glass')}</legend>
        <p class="hint">{words.t('provider.break_glass_hint')}</p>
        <Folded
          words={words}
          items={model.administrators.toSorted((a, b) => Number(b.chosen) - Number(a.chosen))}
          shown={MAX_SHOWN}
          render={(administrators) =>
            administrators.map(({ id, email, chosen }) => (
              <Checkbox
                id={`administrator-${id}`}
                name={`administrator.${id}`}
                label={<bdi>{email}</bdi>}
                checked={chosen}
                key={id}
              />
            ))
          }
        />
      </fieldset>
      <fieldset class="stack">
        <legend>{words.t('provider.state')}</legend>
        {providerStates.map((each) => (
          <Radio
            name="state"
            value={each}
            label={words.t(`provider.state_${each}`)}
            hint={words.t(`provider.state_${each}_hint`)}
            checked={model.state === each}
            key={each}
          />
        ))}
      </fieldset>
    </>
  )
}
