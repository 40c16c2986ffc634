/** Commands for a partner as a whole. */
import { createSandboxPartner } from '../seed.ts'
import type { Context } from './context.ts'
import { type Options, readTime, required } from './options.ts'
import { readOverlap } from './service-accounts.ts'
import { systemClock } from '../kernel/index.ts'

export const partnerCommands = {
  'partner create': async ({ service, db, config }: Context, options: Options) => {
    const name = required(options, 'name')
    if (config.MODE === 'sandbox') return db.transaction((tx) => createSandboxPartner(service, tx, name))
    return { partnerId: await db.transaction((tx) => service.access.createPartner(tx, name)) }
  },

  'partner list': ({ service, db }: Context) => service.access.partners(db),

  /** Rotates every valid service account of the partner, in one transaction. */
  'partner rotate': ({ service: { access }, db }: Context, options: Options) => {
    const partnerId = required(options, 'partner')
    const oldExpiresAt = readOverlap(options)
    return db.transaction(async (tx) => {
      const accounts = await access.serviceAccounts(tx, partnerId)
      const rotated: object[] = []
      for (const { serviceAccountId: id, status, impersonatedBy } of accounts)
        if (status === 'valid' && impersonatedBy === null) {
          const issued = await access.rotateServiceAccount(tx, { partnerId, id, oldExpiresAt })
          rotated.push({ ...issued, replaces: id, oldExpiresAt })
        }
      return rotated
    })
  },

  'partner expire': async ({ service, db }: Context, options: Options) => {
    const partnerId = required(options, 'partner')
    const expiresAt = readTime(options, 'at') ?? systemClock.now()
    const credentials = await db.transaction((tx) => service.access.expirePartner(tx, partnerId, expiresAt))
    return { partnerId, expiresAt, credentials }
  },
}
