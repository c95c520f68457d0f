/** Secrets card of an application's page: list, revoke, add. */
import { AreYouSure } from '../ui/are-you-sure.tsx'
import { Day } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { strong } from '../ui/strong.tsx'
import type { OwnApplicationModel } from './application-model.ts'

type PartProps = { readonly frame: Frame; readonly model: OwnApplicationModel }

export function SecretsCard({ frame, model }: PartProps) {
  const { words } = frame
  if (model.public) {
    return (
      <section class="card stack" aria-labelledby="secrets">
        <h2 id="secrets">{words.t('own_application.secrets')}</h2>
        <p>{words.t('own_application.secrets_public')}</p>
      </section>
    )
  }
  return (
    <section class="card stack" aria-labelledby="secrets">
      <h2 id="secrets">{words.t('own_application.secrets')}</h2>
      <p>{words.t('own_application.secrets_text', { max: model.maxSecrets })}</p>
      <ul class="rows">
        {model.secrets.map((secret) => (
          <SecretRow frame={frame} model={model} secret={secret} key={secret.id} />
        ))}
      </ul>
      <AddSecret frame={frame} model={model} />
    </section>
  )
}

type SecretRowProps = PartProps & { readonly secret: OwnApplicationModel['secrets'][number] }

function SecretRow({ frame, model, secret }: SecretRowProps) {
  const { words } = frame
  const name = secret.label ?? words.t('own_application.unnamed')
  return (
    <li>
      <div class="stack tight">
        <h3>
          <bdi>{name}</bdi>
        </h3>
        <Facts>
          <Fact name={words.t('own_application.since')}>
            <Day words={words} ms={secret.createdOn} />
          </Fact>
          <Fact name={words.t('own_application.last_used')}>
            {secret.lastUsedOn === null ? (
              words.t('own_application.not_used')
            ) : (
              <Day words={words} ms={secret.lastUsedOn} />
            )}
          </Fact>
        </Facts>
      </div>
      {model.secrets.length === 1 ? (
        <p class="hint">{words.t('own_application.only_secret')}</p>
      ) : (
        <AreYouSure
          label={
            <>
              {words.t('own_application.end')} <span class="visually-hidden">{name}</span>
            </>
          }
          question={words.rich('own_application.end_sure', { name, b: strong })}
        >
          <Form
            frame={frame}
            action="/developer/application/secret/revoke"
            bound={{ application: model.id, secret: secret.id }}
            class="actions"
          >
            <button type="submit" class="button danger">
              {words.t('own_application.end_yes')}
            </button>
          </Form>
        </AreYouSure>
      )}
    </li>
  )
}

function AddSecret({ frame, model }: PartProps) {
  const { words } = frame
  const full = model.secrets.length >= model.maxSecrets
  if (full) {
    return (
      <div class="stack tight">
        <p id="add-reason">{words.t('own_application.full', { max: model.maxSecrets })}</p>
        <p class="actions">
          <button type="button" class="button quiet" disabled aria-describedby="add-reason">
            {words.t('own_application.add')}
          </button>
        </p>
      </div>
    )
  }
  return (
    <Form frame={frame} action="/developer/application/secret" bound={{ application: model.id }} class="stack tight">
      <Field
        id="label"
        label={words.t('own_application.label')}
        hint={words.t('own_application.label_hint')}
        autocomplete="off"
        maxLength={60}
      />
      <p class="actions">
        <button type="submit" class="button quiet">
          {words.t('own_application.add')}
        </button>
      </p>
    </Form>
  )
}
