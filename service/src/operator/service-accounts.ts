/** Commands for the credentials of a partner. */
import { after, minuteMs, systemClock } from '../kernel/index.ts'
import type { Context } from './context.ts'
import { type Options, readInteger, readPermissions, readPublicKey, readTime, required } from './options.ts'

const hourMs = 60 * minuteMs
const overlapHoursMax = 24 * 90

/** When the old credential of a rotation ends. */
export function readOverlap(options: Options): Date {
  const hours = readInteger(options, 'overlap-hours', { min: 0, max: overlapHoursMax, otherwise: 24 })
  return after(systemClock.now(), hours * hourMs)
}

const idsOf = (options: Options) => ({ partnerId: required(options, 'partner'), id: required(options, 'id') })

export const serviceAccountCommands = {
  'service-account create': async ({ service, db }: Context, options: Options) => {
    const request = {
      partnerId: required(options, 'partner'),
      name: required(options, 'name'),
      permissions: readPermissions(required(options, 'permissions')),
      ...(await readPublicKey(options)),
    }
    return db.transaction((tx) => service.access.createServiceAccount(tx, request))
  },

  'service-account list': ({ service, db }: Context, options: Options) =>
    service.access.serviceAccounts(db, required(options, 'partner')),

  'service-account rotate': async ({ service, db }: Context, options: Options) => {
    const { partnerId, id } = idsOf(options)
    const oldExpiresAt = readOverlap(options)
    const rotation = { partnerId, id, oldExpiresAt, ...(await readPublicKey(options)) }
    const issued = await db.transaction((tx) => service.access.rotateServiceAccount(tx, rotation))
    return { ...issued, replaces: id, oldExpiresAt }
  },

  'service-account expire': async ({ service, db }: Context, options: Options) => {
    const { partnerId, id } = idsOf(options)
    const expiresAt = readTime(options, 'at') ?? systemClock.now()
    await db.transaction((tx) => service.access.expireServiceAccount(tx, partnerId, id, expiresAt))
    return { serviceAccountId: id, expiresAt }
  },

  'service-account revoke': async ({ service, db }: Context, options: Options) => {
    const { partnerId, id } = idsOf(options)
    await db.transaction((tx) => service.access.revoke(tx, partnerId, id))
    return { revoked: id }
  },

  impersonate: ({ service, db }: Context, options: Options) => {
    const minutes = readInteger(options, 'minutes', { min: 1, max: 60, otherwise: 15 })
    const [partnerId, staff] = [required(options, 'partner'), required(options, 'staff')]
    return db.transaction((tx) => service.access.impersonate(tx, partnerId, staff, minutes))
  },
}
