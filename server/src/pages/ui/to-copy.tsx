/** Technical text with a copy button. */
import { CopyButton } from './elements.tsx'
import type { Words } from './words.ts'

type ToCopyProps = { readonly words: Words; readonly id: string; readonly label: string; readonly text: string }

export function ToCopy({ words, id, label, text }: ToCopyProps) {
  return (
    <div class="stack tight">
      <p class="strong">{label}</p>
      <div class="copied">
        <bdi class="secret boxed" dir="ltr" id={id}>
          {text}
        </bdi>
        <CopyButton words={words} from={id} />
      </div>
    </div>
  )
}
