/** Commands for the tables of the modulus check, which the operator loads from the files of Vocalink. */
import { ConfigError } from '../app/config.ts'
import { ModulusFileProblem } from '../parties/beneficiaries/index.ts'
import type { Tx } from '../postgres/index.ts'
import { readText } from './bics.ts'
import { record } from './changes.ts'
import type { CommandsOf } from './context.ts'

export const sortCodeCommands: CommandsOf<`sort-codes ${string}`> = {
  /** Loads both files, or nothing. Payees that exist stay as they are. */
  'sort-codes load': async ({ service }, { from, substitutes: file, staff }, call) => {
    const weights = await readText(from)
    const substitutes = file === undefined ? '' : await readText(file)
    const recorded = (tx: Tx) => record(service, tx, call)
    try {
      return await service.beneficiaries.modulusTables.load({ weights, substitutes }, staff, recorded)
    } catch (error) {
      if (error instanceof ModulusFileProblem) throw new ConfigError(`operator: line ${error.line}: ${error.message}`)
      throw error
    }
  },

  'sort-codes show': async ({ service: { beneficiaries }, db }) => {
    const table = await beneficiaries.modulusTables.current(db)
    if (table === undefined) throw new ConfigError('operator: No table of the modulus check was loaded.')
    return table
  },
}
