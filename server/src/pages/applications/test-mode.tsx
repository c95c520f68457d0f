/** Test mode of an application: its card, with when it ends, and the page that shows its secret once. */
import { applicationHref } from '../grants/application-ways.tsx'
import { Moment } from '../ui/elements.tsx'
import { Fact, Facts } from '../ui/facts.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice } from '../ui/notice.tsx'
import { type Sample, Samples } from '../ui/samples.tsx'
import { strong } from '../ui/strong.tsx'
import { ToCopy } from '../ui/to-copy.tsx'
import type { OwnApplicationModel } from './application-model.ts'

type CardProps = {
  readonly frame: Frame
  readonly model: Pick<OwnApplicationModel, 'id' | 'testEndsAt'>
}

export function TestModeCard({ frame, model }: CardProps) {
  const { words } = frame
  const { id, testEndsAt } = model
  const on = testEndsAt !== null
  return (
    <section class="card stack" aria-labelledby="test-mode">
      <h2 id="test-mode">{words.t('test_mode.title')}</h2>
      {on ? (
        <>
          <Facts>
            <Fact name={words.t('test_mode.ends')}>
              <Moment words={words} ms={testEndsAt} />
            </Fact>
          </Facts>
          <p>{words.t('test_mode.end_text')}</p>
        </>
      ) : (
        <p>{words.t('test_mode.text')}</p>
      )}
      <p>{words.t('test_mode.limits')}</p>
      <Form
        frame={frame}
        action={on ? '/developer/application/test-mode/end' : '/developer/application/test-mode'}
        bound={{ application: id }}
        class="actions"
      >
        <button type="submit" class="button quiet">
          {words.t(on ? 'test_mode.end' : 'test_mode.start')}
        </button>
      </Form>
    </section>
  )
}

export type TestSecretModel = {
  readonly id: string
  readonly name: string
  readonly secret: string
  readonly endsAt: number
  readonly public: boolean
  readonly samples: readonly Sample[]
}

export function testSecretPage(frame: Frame, model: TestSecretModel): string {
  const { words } = frame
  const { id, name, secret, endsAt } = model
  return page(
    frame,
    words.t('test_secret.title'),
    <>
      <section class="card stack">
        <h1>{words.rich('test_secret.heading', { name, b: strong })}</h1>
        <Facts>
          <Fact name={words.t('test_mode.ends')}>
            <Moment words={words} ms={endsAt} />
          </Fact>
        </Facts>
        <p>{words.t('test_mode.limits')}</p>
        <Notice kind="warning" title={words.t('test_secret.once')}>
          <p>{words.t('test_secret.once_text')}</p>
        </Notice>
        <ToCopy words={words} id="test-secret" label={words.t('test_secret.secret')} text={secret} />
        <p class="hint">{words.t('test_secret.where')}</p>
        <p class="actions">
          <a class="button" href={applicationHref(id)}>
            {words.t('secret_shown.stored')}
          </a>
        </p>
      </section>
      <Samples words={words} samples={model.samples} secret={!model.public} />
    </>,
    { wide: true, once: true },
  )
}
