/** Commands for a partner as a whole. */
import { createSandboxPartner } from '../app/seed.ts'
import { changing, record } from './changes.ts'
import { type Context, withBaseUrl } from './context.ts'
import { type Options, readTime, required } from './options.ts'
import { readOverlap } from './service-accounts.ts'
import { systemClock } from '../kernel/index.ts'

export const partnerCommands = {
  'partner create': ({ service, db, config }: Context, options: Options) => {
    const name = required(options, 'name')
    return db.transaction(async (tx) => {
      const made =
        config.MODE === 'sandbox'
          ? withBaseUrl({ config }, await createSandboxPartner(service, tx, name))
          : { partnerId: await service.access.createPartner(tx, name) }
      await record(service, tx, { command: 'partner create', options, partnerId: made.partnerId })
      return made
    })
  },

  'partner list': ({ service, db }: Context) => service.access.partners(db),

  /** Rotates every valid service account of the partner, in one transaction. */
  'partner rotate': (context: Context, options: Options) => {
    const { access } = context.service
    const partnerId = required(options, 'partner')
    const oldExpiresAt = readOverlap(options)
    return changing(context, { command: 'partner rotate', options }, async (tx) => {
      const accounts = await access.serviceAccounts(tx, partnerId)
      const rotated: object[] = []
      for (const { serviceAccountId: id, status, impersonatedBy } of accounts)
        if (status === 'valid' && impersonatedBy === null) {
          const issued = await access.rotateServiceAccount(tx, { partnerId, id, oldExpiresAt })
          rotated.push({ ...withBaseUrl(context, issued), replaces: id, oldExpiresAt })
        }
      return rotated
    })
  },

  'partner expire': async (context: Context, options: Options) => {
    const partnerId = required(options, 'partner')
    const expiresAt = readTime(options, 'at') ?? systemClock.now()
    const credentials = await changing(context, { command: 'partner expire', options }, (tx) =>
      context.service.access.expirePartner(tx, partnerId, expiresAt),
    )
    return { partnerId, expiresAt, credentials }
  },
}
