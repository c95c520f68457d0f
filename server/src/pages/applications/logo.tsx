/** Logo page of one of the account's own applications. */
import type { PictureProblem } from '../../core/picture.ts'
import { applicationHref } from '../grants/application-ways.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'
import { LogoField } from './logo-field.tsx'
import { pictureProblemText } from './picture-problem.ts'

export type ApplicationLogoModel = {
  readonly id: string
  readonly name: string
  /** URL. */
  readonly logo: string | null
  /** The publisher is not verified, so users do not see the logo. */
  readonly unverified: boolean
  /** A new logo waits until an operator accepts it. */
  readonly secondLook: boolean
  readonly problem: null | 'none' | PictureProblem
}

export function applicationLogoPage(frame: Frame, model: ApplicationLogoModel): string {
  const { words } = frame
  const { id, logo, problem } = model
  const title = words.t('application_logo.title', { name: model.name })
  const wrong =
    problem && (problem === 'none' ? words.t('application_logo.problem_none') : pictureProblemText(words, problem))
  return page(
    frame,
    title,
    <>
      <Problems words={words} problems={wrong ? [{ field: 'logo', text: wrong }] : []} />
      <section class="card stack">
        <h1>{title}</h1>
        <p>{words.t('application_logo.text')}</p>
        {model.unverified && (
          <Notice kind="warning" title={words.t('application_logo.unverified')}>
            <p>{words.t('application_logo.unverified_text')}</p>
            <p>
              <a href={applicationHref(id, '/publisher')}>{words.t('application_logo.verify')}</a>
            </p>
          </Notice>
        )}
        {model.secondLook && <Notice kind="info">{words.t('application_logo.second_look')}</Notice>}
        <Form frame={frame} action="/developer/application/logo" bound={{ application: id }} multipart class="stack">
          <LogoField words={words} label={words.t('application_logo.file')} logo={logo} problem={wrong} />
          <p class="actions">
            <button type="submit" class="button">
              {words.t('application_logo.save')}
            </button>
            <a href={applicationHref(id)}>{words.t('application_settings.back')}</a>
          </p>
        </Form>
      </section>
    </>,
    { problem: problem !== null },
  )
}
