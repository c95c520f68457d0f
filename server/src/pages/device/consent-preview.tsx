/** The consent pages as whoever makes the application looks at them: marked as a preview, and without anything to send. */
import type { ComponentChildren } from 'preact'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { Notice } from '../ui/notice.tsx'

/** Leads back to the application whose preview this is; the page's own address says which. */
export function PreviewNotice({ frame }: { readonly frame: Frame }) {
  const { words, path } = frame
  const id = new URLSearchParams(path.split('?')[1] ?? '').get('application') ?? ''
  return (
    <Notice kind="info" title={words.t('consent.preview')}>
      <p>{words.t('consent.preview_text')}</p>
      <p>
        <a href={`/developer/application?application=${encodeURIComponent(id)}`}>{words.t('consent.preview_back')}</a>
      </p>
    </Notice>
  )
}

type AnswerFormProps = {
  readonly frame: Frame
  readonly action: string
  readonly bound: Readonly<Record<string, string>>
  readonly class: string
  readonly preview: boolean
  readonly children: ComponentChildren
}

/** Where one answers: a form, unless it is a preview. */
export function AnswerForm({ preview, ...form }: AnswerFormProps) {
  return preview ? <div class={form.class}>{form.children}</div> : <Form {...form} />
}
