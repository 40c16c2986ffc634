/** Commands for the BIC directory, which the operator loads from a file. */
import { readFile, stat } from 'node:fs/promises'
import { ConfigError } from '../app/config.ts'
import { BicFileProblem } from '../parties/beneficiaries/index.ts'
import type { Tx } from '../postgres/index.ts'
import { record } from './changes.ts'
import type { CommandsOf } from './context.ts'

/** A directory of all banks of the SEPA has about 10 MB. */
const fileBytesMax = 64 * 1024 * 1024

export const bicCommands: CommandsOf<`bic ${string}`> = {
  /**
   * Loads the whole file or nothing. Then completes the BICs of all beneficiaries that have none of their own. If the
   * command is interrupted, the same command continues.
   */
  'bic load': async ({ service, db }, { from: file, staff }, call) => {
    const { access, beneficiaries } = service
    const text = await readText(file)
    const recorded = (tx: Tx) => record(service, tx, call)
    const loaded = await beneficiaries.bicDirectory.load(text, staff, recorded).catch((error: unknown) => {
      if (error instanceof BicFileProblem)
        throw new ConfigError(`operator: ${file}, line ${error.line}: ${error.message}`)
      throw error
    })
    let completed = 0
    for (const partnerId of await access.partnerIds(db))
      completed += await beneficiaries.bicDirectory.completeAll(partnerId)
    return { ...loaded, completed }
  },

  'bic show': async ({ service: { beneficiaries }, db }) => {
    const directory = await beneficiaries.bicDirectory.current(db)
    if (directory === undefined) throw new ConfigError('operator: No BIC directory was loaded.')
    return directory
  },
}

/** Reads a file of UTF-8 as a whole. Throws a ConfigError of one line. */
export async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file)
    if (size > fileBytesMax) throw new Error(`is larger than ${fileBytesMax} bytes`)
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))
  } catch (error) {
    throw new ConfigError(`operator: ${file}: ${(error as Error).message}`)
  }
}
