/** Names of exchanged files. */
import { assert } from '../../../kernel/index.ts'

/** Names of unfinished files, and of files that are not for us. */
const unfinishedForm = /^\.|\.(?:tmp|part|filepart)$/i
export const isFinishedName = (name: string): boolean => !unfinishedForm.test(name)

/** A bank chooses the name: it must not lead out of its folder. */
export function within(folder: string, name: string): string {
  assert(name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name), 'the name of a file has no path')
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}
