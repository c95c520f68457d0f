/** Policy page of an account: how its users sign in, and which applications they may connect. */

import type { Publisher } from '../../core/applications/application.ts'
import type { SecondFactorPolicy } from '../../core/sign-in/second-factor.ts'
import { PublisherLine } from '../applications/publisher.tsx'
import { Checkbox, Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'

export type PolicyModel = {
  /** `always`: the account is the operators', which cannot turn it off. */
  readonly secondFactor: SecondFactorPolicy | 'always'
  readonly deviceFlow: boolean
  readonly unverifiedPublishers: boolean
  /** Allow only the ticked applications. */
  readonly only: boolean
  readonly applications: readonly {
    readonly id: string
    readonly name: string
    readonly publisher: Publisher
    readonly allowed: boolean
  }[]
  /** Id of an application to add, as typed. */
  readonly add: string
  readonly problem: null | 'unknown'
  readonly saved: boolean
}

export function policyPage(frame: Frame, model: PolicyModel): string {
  const { words } = frame
  const name = frame.account?.name ?? ''
  const wrong = model.problem && words.t(`policy.problem_${model.problem}`)
  return page(
    frame,
    words.t('policy.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field: 'add', text: wrong }] : []} />
      {model.saved && !wrong && <Notice kind="success">{words.t('policy.saved')}</Notice>}
      <header class="stack tight">
        <h1>{words.t('policy.title')}</h1>
        <p class="soft">{words.t('policy.text', { name })}</p>
        <p class="soft">
          {words.rich('policy.connected_before', { a: (chunks) => <a href="/account/applications">{chunks}</a> })}
        </p>
      </header>
      <Form frame={frame} action="/account/policy" class="card stack policy">
        <div class="stack tight">
          <Checkbox
            id="device_flow"
            label={words.t('policy.device_flow')}
            hint={words.t('policy.device_flow_hint', { name })}
            checked={model.deviceFlow}
          />
          <Checkbox
            id="unverified_publishers"
            label={words.t('policy.unverified_publishers')}
            hint={words.t('policy.unverified_publishers_hint')}
            checked={model.unverifiedPublishers}
          />
          <Checkbox id="only" label={words.t('policy.only')} hint={words.t('policy.only_hint')} checked={model.only} />
        </div>
        <Applications frame={frame} model={model} wrong={wrong} />
        <SecondFactor frame={frame} policy={model.secondFactor} />
        <p class="actions">
          <button type="submit" class="button">
            {words.t('policy.save')}
          </button>
        </p>
      </Form>
    </>,
    { problem: wrong !== null },
  )
}

type SecondFactorProps = { readonly frame: Frame; readonly policy: PolicyModel['secondFactor'] }

function SecondFactor({ frame: { words, signInAt }, policy }: SecondFactorProps) {
  return (
    <fieldset>
      <legend>{words.t('policy.sign_in')}</legend>
      {signInAt !== null ? (
        <p>{words.t('policy.second_factor_host', { host: signInAt })}</p>
      ) : policy === 'always' ? (
        <p>{words.t('policy.second_factor_always')}</p>
      ) : (
        <Checkbox
          id="second_factor"
          label={words.t('policy.second_factor')}
          hint={words.t('policy.second_factor_hint')}
          checked={policy === 'required'}
        />
      )}
    </fieldset>
  )
}

type ApplicationsProps = { readonly frame: Frame; readonly model: PolicyModel; readonly wrong: string | null }

/** Hidden by the stylesheet while the box `only` above is not ticked. */
function Applications({ frame, model, wrong }: ApplicationsProps) {
  const { words } = frame
  const { applications } = model
  return (
    <fieldset class="listed">
      <legend>{words.t('policy.applications')}</legend>
      <p class="hint">{words.t(applications.length === 0 ? 'policy.applications_none' : 'policy.applications_hint')}</p>
      {applications.map(({ id, name, publisher, allowed }) => (
        <Checkbox
          id={`application-${id}`}
          name={`application.${id}`}
          label={<bdi>{name}</bdi>}
          hint={<PublisherLine words={words} publisher={publisher} />}
          checked={allowed}
          key={id}
        />
      ))}
      <Field
        id="add"
        label={words.t('policy.add')}
        hint={words.t('policy.add_hint')}
        value={model.problem ? model.add : ''}
        autocomplete="off"
        problem={wrong}
      />
    </fieldset>
  )
}
