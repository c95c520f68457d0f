/** Branding page of an account: name, colour and logo that its users see. */

import type { PictureProblem } from '../../core/picture.ts'
import { LogoField } from '../applications/logo-field.tsx'
import { pictureProblemText } from '../applications/picture-problem.ts'
import { Checkbox, Field } from '../ui/field.tsx'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { page } from '../ui/layout.tsx'
import { Notice, Problems } from '../ui/notice.tsx'

export type BrandingModel = {
  readonly name: string
  /** `#rrggbb`, lower case; null: the default colour. */
  readonly colour: string | null
  /** URL. */
  readonly logo: string | null
  readonly problem: null | 'name' | 'colour' | PictureProblem
  readonly saved: boolean
}

/**
 * Value of the colour input when no colour is set, because a colour input cannot be empty. Submitted, it is read as
 * null.
 */
export const STANDARD_COLOUR = '#2450b8'

export function brandingPage(frame: Frame, model: BrandingModel): string {
  const { words } = frame
  const { name, colour, logo, problem } = model
  const field = problem && (typeof problem === 'string' ? problem : 'logo')
  const wrong =
    problem &&
    (typeof problem === 'string' ? words.t(`branding.problem_${problem}`) : pictureProblemText(words, problem))
  return page(
    frame,
    words.t('branding.title'),
    <>
      <Problems words={words} problems={wrong ? [{ field, text: wrong }] : []} />
      {model.saved && !problem && <Notice kind="success">{words.t('branding.saved')}</Notice>}
      <section class="card stack">
        <h1>{words.t('branding.title')}</h1>
        <p>{words.t('branding.text')}</p>
        <Form frame={frame} action="/account/branding" multipart class="stack">
          <Field
            id="name"
            label={words.t('branding.name')}
            hint={words.t('branding.name_hint')}
            value={name}
            autocomplete="off"
            problem={problem === 'name' ? wrong : null}
          />
          <div class="stack tight">
            <Field
              id="colour"
              type="color"
              label={words.t('branding.colour')}
              hint={words.t('branding.colour_hint')}
              value={colour ?? STANDARD_COLOUR}
              problem={problem === 'colour' ? wrong : null}
            />
            {colour !== null && <Checkbox id="default_colour" label={words.t('branding.default_colour')} />}
          </div>
          <LogoField
            words={words}
            label={words.t('branding.logo')}
            logo={logo}
            problem={field === 'logo' ? wrong : null}
          />
          <p class="actions">
            <button type="submit" class="button">
              {words.t('branding.save')}
            </button>
          </p>
        </Form>
      </section>
    </>,
    { problem: problem !== null },
  )
}
