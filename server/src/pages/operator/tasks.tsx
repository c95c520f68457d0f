/** Background tasks of this process: time of the last success and of the last failure. */
import type { TaskLine } from '../../core/operator/listed.ts'
import { Scrolled } from '../ui/scrolled.tsx'
import type { Words } from '../ui/words.ts'

export function TaskTable({ words, tasks }: { readonly words: Words; readonly tasks: readonly TaskLine[] }) {
  return (
    <Scrolled label={words.t('operator.task')}>
      <table class="listing">
        <thead>
          <tr>
            <th scope="col">{words.t('operator.task')}</th>
            <th scope="col">{words.t('operator.task_every')}</th>
            <th scope="col">{words.t('operator.task_succeeded')}</th>
            <th scope="col">{words.t('operator.task_failed')}</th>
          </tr>
        </thead>
        <tbody>
          {tasks.map((task) => (
            <tr key={task.name}>
              <th scope="row">
                <bdi lang="en">{task.name}</bdi>
                {task.overdue && (
                  <>
                    {' '}
                    <span class="badge danger">{words.t('operator.task_overdue')}</span>
                  </>
                )}
              </th>
              <td class="figures">{words.t('operator.seconds', { seconds: task.everyMs / 1000 })}</td>
              <td class="figures">{agoOf(words, task.succeededAgoMs)}</td>
              <td>
                {agoOf(words, task.failedAgoMs)}
                {task.failure !== null && (
                  <p class="hint" lang="en" dir="ltr">
                    {task.failure}
                  </p>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scrolled>
  )
}

function agoOf(words: Words, ms: number | null): string {
  return ms === null ? words.t('operator.task_never') : words.ago(ms)
}
