/** Reader for lists of check boxes: `role.rol_…=on` for each that is ticked. */
import type { FormFields } from '../parameters.ts'

export function checkedNames(fields: FormFields, prefix: string): readonly string[] {
  return [...fields.keys()].filter((name) => name.startsWith(`${prefix}.`)).map((name) => name.slice(prefix.length + 1))
}
