/** Commands for the tables of the modulus check, which the operator loads from the files of Vocalink. */
import { ConfigError } from '../app/config.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { ModulusFileProblem } from '../modules/beneficiaries/index.ts'
import type { Tx } from '../postgres/index.ts'
import { readText } from './bics.ts'
import { record } from './changes.ts'
import type { Context } from './context.ts'
import { type Options, required } from './options.ts'

export const sortCodeCommands = {
  /** Loads both files, or nothing. Payees that exist stay as they are. */
  'sort-codes load': async ({ service }: Context, options: Options) => {
    const [file, staff] = [required(options, 'from'), required(options, 'staff')]
    const weights = await readText(file)
    const substitutes = options.substitutes === undefined ? '' : await readText(options.substitutes)
    // The tables are for all partners: the record is in the log of the operator.
    const change = { command: 'sort-codes load', options, partnerId: operatorPartnerId }
    const recorded = (tx: Tx) => record(service, tx, change)
    try {
      return await service.beneficiaries.modulusTables.load({ weights, substitutes }, staff, recorded)
    } catch (error) {
      if (error instanceof ModulusFileProblem) throw new ConfigError(`operator: line ${error.line}: ${error.message}`)
      throw error
    }
  },

  'sort-codes show': async ({ service: { beneficiaries }, db }: Context) => {
    const table = await beneficiaries.modulusTables.current(db)
    if (table === undefined) throw new ConfigError('operator: No table of the modulus check was loaded.')
    return table
  },
}
