/** Field for a user code: the heading of its page, with the warning against codes of other people. */
import { CodeField } from '../ui/elements.tsx'
import { Field } from '../ui/field.tsx'
import type { Words } from '../ui/words.ts'

type UserCodeFieldProps = {
  readonly words: Words
  readonly typed: string
  readonly problem: string | null
  readonly focus: boolean
}

export function UserCodeField({ words, typed, problem, focus }: UserCodeFieldProps) {
  return (
    <CodeField>
      <Field
        id="app-code"
        name="code"
        heading
        label={words.t('enter_code.heading')}
        hint={<p>{words.t('enter_code.warning')}</p>}
        problem={problem}
        value={typed}
        inputmode="numeric"
        autocomplete="off"
        size={13}
        focus={focus}
        code
      />
    </CodeField>
  )
}
