/** Preview mode of the consent pages, for the application's developer: marked as a preview, without forms. */
import type { ComponentChildren } from 'preact'
import { Form } from '../ui/form.tsx'
import type { Frame } from '../ui/frame.ts'
import { Notice } from '../ui/notice.tsx'

/** Links back to the application, whose id is in the query of the page's own URL. */
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
  readonly id?: string
  readonly action: string
  readonly bound: Readonly<Record<string, string>>
  readonly class: string
  readonly preview: boolean
  readonly children: ComponentChildren
}

/** A form, or a plain `<div>` in a preview. */
export function AnswerForm({ preview, ...form }: AnswerFormProps) {
  return preview ? <div class={form.class}>{form.children}</div> : <Form {...form} />
}
