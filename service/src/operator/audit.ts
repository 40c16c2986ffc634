/** The command that compares the audit logs with their chains and signed heads. */
import { verifyLog } from '../audit/index.ts'
import { ConfigError } from '../app/config.ts'
import type { CommandsOf } from './context.ts'

export const auditCommands: CommandsOf<`audit ${string}`> = {
  /** A fault is an error, so that the exit status reports it as well. */
  'audit verify': async ({ service, db }, { partner }) => {
    const partnerIds = partner === undefined ? await service.access.partnerIds(db) : [partner]
    const verified = []
    for (const partnerId of partnerIds) verified.push(await verifyLog(db, partnerId))
    const wrong = verified.filter(({ faults }) => faults.length > 0)
    if (wrong.length > 0) throw new ConfigError(`operator: the audit log was changed: ${JSON.stringify(wrong)}`)
    return verified
  },
}
