/** Reads settings that name a file. */
import { readFileSync } from 'node:fs'
import { refuseSetting } from '../../kernel/index.ts'

/** The text of a file that a setting names. */
export function readSettingFile(path: string, refuse: (reason: string) => never): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    return refuse((error as Error).message)
  }
}

/** The value of JSON, or of a file with JSON that the text names. `opening`: the sign with which the JSON begins. */
export function readJsonOrFile(text: string, opening: '[' | '{'): unknown {
  const refuse = (reason: string) => refuseSetting(`must be JSON, or name a file that can be read: ${reason}`)
  const json = text.startsWith(opening) ? text : readSettingFile(text, refuse)
  try {
    return JSON.parse(json)
  } catch {
    return refuseSetting('must be JSON, or the path of a file with JSON')
  }
}
