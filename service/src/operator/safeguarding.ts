/** Commands of safeguarding: designated accounts, the computation of a day, its records as files, and their verification. */
import { readFile, writeFile } from 'node:fs/promises'
import { isSigned, ownJson, readForeign, Type } from '@partner-payments/wire'
import { ConfigError } from '../app/config.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { after, dayMs, systemClock } from '../kernel/index.ts'
import {
  type Content,
  digestOf,
  faultsOfContent,
  isDay,
  safeguardingCsv,
  safeguardingPdf,
  type SafeguardingRecord,
  type Signed,
  signedOfCsv,
} from '../modules/safeguarding/index.ts'
import { changing, record, refusedInOneLine } from './changes.ts'
import type { Context } from './context.ts'
import { type Options, readChoice, readCurrencyOption, readTime, required } from './options.ts'

export const safeguardingCommands = {
  'safeguarding accounts set': async (context: Context, options: Options) => {
    const designation = {
      account: required(options, 'account').replaceAll(' ', ''),
      currency: readCurrencyOption(options),
      from: options.from ?? systemClock.now().toISOString().slice(0, 10),
      until: options.until ?? null,
      staff: required(options, 'staff'),
    }
    const change = { command: 'safeguarding accounts set', options, partnerId: operatorPartnerId }
    return refusedInOneLine(() =>
      changing(context, change, (tx) => context.service.safeguarding.designate(tx, designation)),
    )
  },

  'safeguarding accounts list': ({ service: { safeguarding }, db }: Context) => safeguarding.accounts(db),

  /** Computes a day, and prints the record of each currency, new or not. */
  'safeguarding run': async ({ service, db }: Context, options: Options) => {
    const computed = await refusedInOneLine(() =>
      service.safeguarding.compute(readDayText(options), readTime(options, 'at')),
    )
    const change = { command: 'safeguarding run', options, partnerId: operatorPartnerId }
    await db.transaction((tx) => record(service, tx, change))
    return computed.map(({ record: found, isNew }) => ({ isNew, ...viewOf(found) }))
  },

  /** The versions of a day, the last of each currency first. */
  'safeguarding show': async (context: Context, options: Options) =>
    (await recordsOf(context, options, 'all')).map(viewOf),

  /** Writes the last version of a day in each currency to a file. */
  'safeguarding export': async (context: Context, options: Options) => {
    const format = readChoice(options, 'format', ['json', 'csv', 'pdf'])
    const file = required(options, 'to')
    const records = await recordsOf(context, options, 'last')
    const signed = records.map(signedOf)
    try {
      if (format === 'pdf') await writeFile(file, safeguardingPdf(signed))
      else
        await writeFile(file, format === 'csv' ? safeguardingCsv(signed) : `${JSON.stringify(signed, undefined, 2)}\n`)
    } catch (error) {
      throw new ConfigError(`operator: ${file}: ${(error as Error).message}`)
    }
    return {
      file,
      format,
      records: records.map(({ day, currency, version, digest }) => ({ day, currency, version, digest })),
    }
  },
}

/** Verifies an exported file without a database: its signatures, its sums, and its key. */
export async function verifySafeguarding(options: Options): Promise<object> {
  const file = required(options, 'from')
  const text = await readFile(file, 'utf8').catch((error: Error) => {
    throw new ConfigError(`operator: ${file}: ${error.message}`)
  })
  const signed = text.startsWith('[') ? signedOfJson(text) : signedOfCsv(text)
  if (signed === undefined)
    throw new ConfigError(`operator: ${file}: is not an unchanged JSON or CSV export of "safeguarding export"`)
  const faults: string[] = []
  const records = signed.map((each) => {
    const { day, currency, version, status, ...content } = ownJson<Content>(each.content)
    const name = `${day} ${currency}`
    if (!isSigned(each)) faults.push(`${name}: the signature is wrong.`)
    if (options.key !== undefined && each.publicKey !== options.key) faults.push(`${name}: signed by another key.`)
    for (const fault of faultsOfContent({ day, currency, version, status, ...content }))
      faults.push(`${name}: ${fault}`)
    return { day, currency, version, status, digest: digestOf(each.content), publicKey: each.publicKey }
  })
  if (faults.length > 0) throw new ConfigError(`operator: ${file}: ${faults.join(' ')}`)
  return { isKeyCompared: options.key !== undefined, records }
}

const SignedFile = Type.Array(
  Type.Object({ content: Type.String(), signature: Type.String(), publicKey: Type.String() }),
  { minItems: 1 },
)
/** Records of some years, each of a few kilobytes. */
const signedCharsMax = 256 * 2 ** 20

const signedOfJson = (text: string): readonly Signed[] | undefined => readForeign(text, SignedFile, signedCharsMax)

const signedOf = ({ text: content, signature, publicKey }: SafeguardingRecord): Signed => ({
  content,
  signature: signature.toString('base64'),
  publicKey,
})

const viewOf = ({ digest, publicKey, content }: SafeguardingRecord) => ({ digest, publicKey, ...content })

function readDayText(options: Options): string {
  const day = required(options, 'day')
  if (!isDay(day)) throw new ConfigError('operator: --day must be a day in UTC such as 2026-03-01')
  return day
}

async function recordsOf({ service, db }: Context, options: Options, versions: 'all' | 'last') {
  const day = readDayText(options)
  const before = after(new Date(day), dayMs).toISOString().slice(0, 10)
  const only = options.currency === undefined ? undefined : readCurrencyOption(options)
  const last = (await service.safeguarding.list(db, { from: day, before, rowsMax: 100 })).filter(
    ({ currency }) => only === undefined || currency === only,
  )
  if (last.length === 0) throw new ConfigError(`operator: No safeguarding record of ${day}.`)
  if (versions === 'last') return last
  return (await Promise.all(last.map(({ currency }) => service.safeguarding.versions(db, day, currency)))).flat()
}
