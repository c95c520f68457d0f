/** File field for a logo, with the current one; for accounts and applications. */
import { PictureField } from '../ui/elements.tsx'
import { Checkbox, Field } from '../ui/field.tsx'
import type { Words } from '../ui/words.ts'
import { pictureHint } from './picture-problem.ts'

type LogoFieldProps = {
  readonly words: Words
  readonly label: string
  /** URL of the current logo. */
  readonly logo: string | null
  readonly problem: string | null
}

export function LogoField({ words, label, logo, problem }: LogoFieldProps) {
  return (
    <div class="stack tight">
      <PictureField>
        <Field
          id="logo"
          type="file"
          label={label}
          hint={<LogoHint words={words} logo={logo} />}
          accept="image/png"
          problem={problem}
        />
      </PictureField>
      {logo !== null && <Checkbox id="remove_logo" label={words.t('branding.remove_logo')} />}
    </div>
  )
}

function LogoHint({ words, logo }: Pick<LogoFieldProps, 'words' | 'logo'>) {
  return (
    <>
      <p>{pictureHint(words)}</p>
      {logo === null ? (
        <p>{words.t('branding.logo_none')}</p>
      ) : (
        <img class="logo" src={logo} alt={words.t('branding.logo_now')} width="96" height="96" />
      )}
    </>
  )
}
