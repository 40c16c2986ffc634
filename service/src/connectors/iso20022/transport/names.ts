/** Names of exchanged files. */
import { assert } from '../../../kernel/index.ts'

/** A writer has not finished a file of such a name, or it is no file for us. */
const unfinishedForm = /^\.|\.(?:tmp|part|filepart)$/i
export const isFinishedName = (name: string): boolean => !unfinishedForm.test(name)

/** A name of the bank is data: it must not lead out of its folder. */
export function within(folder: string, name: string): string {
  assert(name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name), 'the name of a file has no path')
  return folder === '/' ? `/${name}` : `${folder}/${name}`
}
