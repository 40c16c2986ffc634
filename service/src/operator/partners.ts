/** Commands for partners and their credentials. */
import { readFile } from 'node:fs/promises'
import { publicKeyMistake } from '../access/index.ts'
import { ConfigError } from '../app/config.ts'
import { consoleUrlOf } from '../app/derived-settings.ts'
import { createSandboxPartner } from '../app/seed.ts'
import { after, minuteMs, systemClock } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { runAndRecord, type CommandFunctions, recordCommand, withBaseUrl } from './context.ts'
import type { CommandName } from './declarations.ts'

type Name = CommandName & (`partner ${string}` | `service-account ${string}` | 'impersonate')

export const partnerCommands: CommandFunctions<Exclude<Name, 'partner export' | 'partner import'>> = {
  'partner create': ({ service, db, config }, { name }, call) =>
    db.transaction(async (tx) => {
      const made =
        config.MODE === 'sandbox'
          ? withBaseUrl({ config }, await createSandboxPartner(service, tx, name))
          : { partnerId: await service.access.createPartner(tx, name) }
      await recordCommand(service, tx, { ...call, partnerId: made.partnerId })
      return made
    }),

  'partner list': ({ service, db }) => service.access.partners(db),

  'partner owners': ({ service, db }, { partner }) => service.access.partnerNamesByRole(db, partner),

  'partner owners set': (context, { partner: partnerId, 'legal-name': given = '', owners: typed = '' }, call) => {
    const { access } = context.service
    const itemsIn = (text: string) => text.split(';').flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))
    const [legalName = null] = given.trim() === '' ? [] : [given.trim()]
    const owners = itemsIn(typed)
    if ([legalName ?? '', ...owners].some((each) => each.length > nameCharsMax))
      throw new ConfigError(`operator: a name has at most ${nameCharsMax} characters`)
    return runAndRecord(context, call, async (tx) => {
      await access.setOwners(tx, partnerId, { legalName, owners })
      return access.partnerNamesByRole(tx, partnerId)
    })
  },

  /** Rotates every valid service account of the partner, in one transaction. */
  'partner rotate': (context, { partner: partnerId, 'overlap-hours': hours }, call) => {
    const { access } = context.service
    const oldExpiresAt = overlapEnd(hours)
    return runAndRecord(context, call, async (tx) => {
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

  'partner expire': async (context, { partner: partnerId, at }, call) => {
    const expiresAt = expiryTime(at)
    const credentials = await runAndRecord(context, call, (tx) =>
      context.service.access.expirePartner(tx, partnerId, expiresAt),
    )
    return { partnerId, expiresAt, credentials }
  },

  'service-account create': async (context, { partner: partnerId, name, permissions, ...key }, call) => {
    const request = { partnerId, name, permissions, ...(await readKeyOption(key)) }
    const create = (tx: Tx) => context.service.access.createServiceAccount(tx, request)
    return withBaseUrl(context, await runAndRecord(context, call, create, serviceAccountKey))
  },

  'service-account list': ({ service, db }, { partner }) => service.access.serviceAccounts(db, partner),

  'service-account rotate': async (context, { partner: partnerId, id, ...options }, call) => {
    const oldExpiresAt = overlapEnd(options['overlap-hours'])
    const rotation = { partnerId, id, oldExpiresAt, ...(await readKeyOption(options)) }
    const rotate = (tx: Tx) => context.service.access.rotateServiceAccount(tx, rotation)
    const issued = await runAndRecord(context, call, rotate, serviceAccountKey)
    return { ...withBaseUrl(context, issued), replaces: id, oldExpiresAt }
  },

  'service-account expire': async (context, { partner, id, at }, call) => {
    const expiresAt = expiryTime(at)
    await runAndRecord(context, call, (tx) => context.service.access.expireServiceAccount(tx, partner, id, expiresAt))
    return { serviceAccountId: id, expiresAt }
  },

  'service-account revoke': async (context, { partner, id }, call) => {
    await runAndRecord(context, call, (tx) => context.service.access.revoke(tx, partner, id))
    return { revoked: id }
  },

  impersonate: async (context, { partner: partnerId, staff, minutes, note: reason }, call) => {
    const open = async (tx: Tx) => {
      const issued = await context.service.access.impersonate(tx, partnerId, staff, minutes)
      await context.service.tellOfImpersonation(tx, { partnerId, id: issued.serviceAccountId, staff, reason, minutes })
      const { code, codeExpiresAt } = await context.service.access.beginSupport(tx, {
        ...{ partnerId, id: issued.serviceAccountId, reason },
      })
      const consoleUrl = `${consoleUrlOf(context.config)}/support?code=${code}`
      return { ...issued, consoleUrl, consoleUrlExpiresAt: codeExpiresAt }
    }
    return withBaseUrl(context, await runAndRecord(context, call, open, serviceAccountKey))
  },
}

const nameCharsMax = 140

const hourMs = 60 * minuteMs

/**
 * Returns the time at which credentials expire, by default now. A past time is refused, because a mistyped year would
 * revoke them at once.
 */
function expiryTime(at: Date | undefined): Date {
  const now = systemClock.now()
  if (at !== undefined && at < now)
    throw new ConfigError(
      `operator: --at is in the past (it is ${at.toISOString()}): give a later time, or leave it out to end them at once`,
    )
  return at ?? now
}

/** Returns the time at which the old credential of a rotation expires. */
const overlapEnd = (hours: number): Date => after(systemClock.now(), hours * hourMs)

const pemStart = '-----BEGIN PUBLIC KEY-----'

/** Reads a public key. Throws a ConfigError for other kinds of keys, which would fail at every request. */
export async function readPublicKey(file: string): Promise<string> {
  const refuse = (reason: string) => new ConfigError(`operator: --public-key ${file}: ${reason}`)
  // A change that awaited approval contains the text of the file.
  const pem = file.startsWith(pemStart)
    ? file
    : await readFile(file, 'utf8').catch((error: Error) => {
        throw refuse(error.message)
      })
  const mistake = publicKeyMistake(pem)
  if (mistake !== undefined) throw refuse(mistake)
  return pem
}

const readKeyOption = async ({ 'public-key': file }: { readonly 'public-key'?: string }) =>
  file === undefined ? {} : { publicKeyPem: await readPublicKey(file) }

const serviceAccountKey = ({ serviceAccountId }: { readonly serviceAccountId: string }) => ({ serviceAccountId })
