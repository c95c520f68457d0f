/** What is wrong with a request, for the developers of the application that sent the user here. */
import type { Words } from '../ui/words.ts'

export function ForDevelopers({ words, detail }: { words: Words; detail: string }) {
  return (
    <div class="says">
      <p class="hint">{words.t('dialog_problem.for_developers')}</p>
      <p>
        <code class="technical" dir="ltr">
          {detail}
        </code>
      </p>
    </div>
  )
}
