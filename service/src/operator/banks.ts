/** Commands for banks and chains: files, progress and recalls of payments, pools of IBANs, directories of banks, keys of chains. */
import { createHash, hash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdtemp, open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { Refusal } from '../kernel/api/index.ts'
import { ConfigError } from '../app/config.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { readTravelRule } from '../chains/evm/index.ts'
import { amountText } from '../kernel/index.ts'
import { type BadLine, IbanFileProblem, type ImportResult, poolNamePattern } from '../accounts/index.ts'
import { BicFileError, ModulusFileError } from '../parties/beneficiaries/index.ts'
import { instructionIdOf } from '../payouts/index.ts'
import { sqlState, sqlStateOf, type Tx } from '../postgres/index.ts'
import {
  runChange,
  type CommandCall,
  type CommandFunctions,
  type Context,
  rethrowFileError,
  recordCommand,
  refusalAsConfigError,
  type OutputWriter,
} from './context.ts'

type Subject = 'bank' | 'ibans' | 'bic' | 'sort-codes' | 'wallet-key' | 'travel-rule'

export const bankCommands: CommandFunctions<`${Subject} ${string}` | 'payment end'> = {
  'bank files': async ({ service: { isoBanks } }, { connector }) => {
    const ids = connector === undefined ? isoBanks.connectors.map(({ id }) => id) : [connector]
    const files = (await Promise.all(ids.map(isoBanks.files))).flat()
    return files.map((file) => ({ ...file, payments: Number(file.payments) }))
  },

  'bank payment': async (context, options) => {
    const found = await context.service.isoBanks.payment(await readInstruction(context, options))
    if (found === undefined) throw new ConfigError('operator: no file-based bank has this payout')
    return { ...found, amount: amountText(found.amount, found.currency) }
  },

  'bank recall': async (context, options, call) => {
    const { staff, reason } = options
    const key = await readInstruction(context, options)
    const recorded = (tx: Tx) => recordCommand(context.service, tx, call)
    return refusalAsConfigError(() => context.service.isoBanks.requestRecall({ ...key, reason, staff }, recorded))
  },

  /** Writes the letter that recalls a payment at a bank that does not accept recall files. */
  'bank recall letter': async (context, options) => {
    const file = options.to
    const key = await readInstruction(context, options)
    await writeFile(file, await refusalAsConfigError(() => context.service.isoBanks.recallLetter(key)), {
      flag: 'wx',
    }).catch((error: Error) => {
      throw error instanceof ConfigError ? error : new ConfigError(`operator: --to ${file}: ${error.message}`)
    })
    return { file }
  },

  /** Records that the letter was sent, and closes its case. */
  'bank recall sent': async (context, options, call) => {
    const { service } = context
    const key = await readInstruction(context, options)
    return runChange(context, call, async (tx) => {
      const recallId = await service.isoBanks.letterSent(tx, key)
      for (const found of await service.cases.openAbout(tx, key.partnerId, [recallId]))
        await service.decisions.resolveGone(tx, found, call.staff ?? 'operator', options.note)
      return { recallId }
    })
  },

  'bank recall answer': async (context, options, call) => {
    const key = await readInstruction(context, options)
    const { outcome, reason: code = null } = options
    if (code !== null && !/^[A-Z0-9]{4}$/.test(code))
      throw new ConfigError('operator: --reason must be a code of ISO 20022, such as NOAS')
    return runChange(context, call, async (tx) => {
      await context.service.isoBanks.letterAnswered(tx, { ...key, accepted: outcome === 'accepted', code })
      return { outcome }
    })
  },

  /** Releases a quarantined file for processing, and closes its case. */
  'bank file take': async (context, { id, note, staff }, call) => {
    const { service } = context
    return runChange(context, call, async (tx) => {
      const found = await service.cases.byId(tx, operatorPartnerId, id)
      if (found === undefined || !releasableKinds.has(found.kind))
        throw new Refusal(
          'not_found',
          `No such case about a quarantined file. Its kind must be one of: ${[...releasableKinds].join(', ')}.`,
        )
      const released = await service.isoBanks.releaseFile(tx, found.subject)
      if (!(await service.decisions.resolveGone(tx, found, staff, note)))
        throw new Refusal('validation_failed', 'The case has already been decided.')
      return { caseId: id, ...released }
    })
  },

  /**
   * Cancels an entry that the bank never booked, for example because a corrected statement omits it. Closes its case.
   */
  'bank entry cancel': async (context, { id, note, staff }, call) => {
    const { service } = context
    return runChange(context, call, async (tx) => {
      const found = await service.cases.byId(tx, operatorPartnerId, id)
      if (found?.kind !== 'announced_missing')
        throw new Refusal('not_found', 'The case is not announced_missing, or its entry cannot be cancelled.')
      const cancelled = await service.cancelEntry(tx, found.subject)
      if (!(await service.decisions.resolveGone(tx, found, staff, note)))
        throw new Refusal('validation_failed', 'The case has already been decided.')
      return { caseId: id, ...cancelled }
    })
  },

  /** Sets the final outcome of a payment by a written statement of the bank. Records the hash of the statement. */
  'payment end': async (context, options, call) => {
    const { outcome: end, payout } = options
    const evidence = await readEvidence(options.evidence)
    const key = await readInstruction(context, options)
    return runChange(context, { ...call, typed: { ...call.typed, evidence } }, async (tx) => {
      const { isoBanks, payoutLife } = context.service
      if ((await isoBanks.payment(key)) !== undefined) await isoBanks.endPayment(tx, { ...key, end })
      else await payoutLife.endByStatement(tx, { partnerId: key.partnerId, id: payout, end })
      return { partnerId: key.partnerId, payoutId: payout, outcome: end, evidence }
    })
  },

  /**
   * Imports all lines or none. With `--skip-bad` it imports the good lines. Prints the number of every bad line, even
   * if nothing is imported.
   */
  'ibans import': (context, options, call) => {
    const { file: path, currency, partner: partnerId, staff, 'skip-bad': skipsBad } = options
    const [pool, connector] = [readPool(options.pool), readConnector(context, options.connector)]
    const file = { path, pool, currency, connector, partnerId, staff, skipsBad }
    return (write) => withBadLines((bad) => importFile(context, call, file, bad, write))
  },

  'ibans list': async ({ service: { accounts }, db }) => accounts.pools.list(db),

  /** Withdraws IBANs from a pool. An assigned IBAN stays with its account. */
  'ibans withdraw': (context, { pool, partner: partnerId, iban }, call) => {
    const wanted = { pool: readPool(pool), partnerId, iban }
    return runChange(context, call, async (tx) => ({
      pool: wanted.pool,
      withdrawn: await context.service.accounts.pools.withdraw(tx, wanted),
    }))
  },

  /**
   * Loads the whole file or nothing. Then adds the BIC to all beneficiaries that have none of their own. After an
   * interruption, run the same command again to continue.
   */
  'bic load': async ({ service, db }, { from: file, staff }, call) => {
    const { access, beneficiaries } = service
    const text = await readText(file)
    const recorded = (tx: Tx) => recordCommand(service, tx, call)
    const loaded = await beneficiaries.bicDirectory.load(text, staff, recorded).catch((error: unknown) => {
      if (error instanceof BicFileError)
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

  /** Loads both files, or nothing. Payees that exist stay as they are. */
  'sort-codes load': async ({ service }, { from, substitutes: file, staff }, call) => {
    const weights = await readText(from)
    const substitutes = file === undefined ? '' : await readText(file)
    const recorded = (tx: Tx) => recordCommand(service, tx, call)
    try {
      return await service.beneficiaries.modulusTables.load({ weights, substitutes }, staff, recorded)
    } catch (error) {
      if (error instanceof ModulusFileError) throw new ConfigError(`operator: line ${error.line}: ${error.message}`)
      throw error
    }
  },

  'sort-codes show': async ({ service: { beneficiaries }, db }) => {
    const table = await beneficiaries.modulusTables.current(db)
    if (table === undefined) throw new ConfigError('operator: No table of the modulus check was loaded.')
    return table
  },

  /** Creates the missing keys. Existing keys stay. */
  'wallet-key create': ({ service }, _options, call) =>
    service.chainKeys.create((tx) => recordCommand(service, tx, call)),
  'travel-rule show': async ({ service, db }, { hash }) => {
    const found = await readTravelRule(db, service.sealer, hash)
    if (found === undefined) throw new ConfigError(`operator: no payment has the transaction ${hash}`)
    return found
  },
}

/** Kinds of cases whose file may be released. In an unreadable file, possibly only some entries are wrong. */
const releasableKinds: ReadonlySet<string> = new Set(['message_differs', 'sum_differs', 'file_unreadable'])

/** Reads the id under which the bank knows a payout: the id of its instruction. */
async function readInstruction(
  { service: { payouts } }: Context,
  { partner: partnerId, payout: id }: { readonly partner: string; readonly payout: string },
) {
  const payout = await refusalAsConfigError(() => payouts.get(partnerId, id))
  return { partnerId, id: instructionIdOf(payout) }
}

const evidenceForm = / sha256:[0-9a-f]{64}$/
const evidenceBytesMax = 50_000_000

/** Reads the name and the hash of a bank's document. A change that awaited approval already has both. */
export async function readEvidence(file: string): Promise<string> {
  if (evidenceForm.test(file)) return file
  const bytes = await readFile(file).catch(rethrowFileError(`--evidence ${file}`))
  if (bytes.length === 0 || bytes.length > evidenceBytesMax)
    throw new ConfigError(`operator: --evidence ${file}: must have 1 to ${evidenceBytesMax} bytes`)
  return `${basename(file)} sha256:${hash('sha256', bytes)}`
}

function readPool(pool: string): string {
  if (poolNamePattern.test(pool)) return pool
  throw new ConfigError('operator: --pool must be a name of 1 to 32 lower-case letters, digits and hyphens')
}

function readConnector({ config }: Context, connector: string | undefined): string | null {
  if (connector === undefined) return null
  const known = [
    config.RAIL,
    ...config.RAIL_RULES.map((rule) => rule.connector),
    ...config.ISO20022_BANKS.map(({ id }) => id),
  ].filter((id) => id !== null)
  if (known.includes(connector)) return connector
  throw new ConfigError(`operator: --connector must be one of ${[...new Set(known)].join(', ')}`)
}

type IbanFile = {
  readonly path: string
  readonly pool: string
  readonly currency: string
  readonly connector: string | null
  /** Undefined if all partners share the pool. */
  readonly partnerId: string | undefined
  readonly staff: string
  readonly skipsBad: boolean
}

async function importFile(
  context: Context,
  call: CommandCall,
  file: IbanFile,
  bad: BadLines,
  write: OutputWriter,
): Promise<void> {
  const { path, ...rest } = file
  const { access, accounts } = context.service
  const hash = await hashFile(path)
  const printed = async (result: object) => {
    await write(`${JSON.stringify(result).slice(0, -1)},"badLines":[`)
    for await (const part of bad.read()) await write(part)
    await write(']}\n')
  }
  try {
    const imported = await runChange(context, call, async (tx) => {
      // A transaction may run again, after a deadlock.
      await bad.clear()
      await access.addOperator(tx, operatorPartnerId)
      if (file.partnerId !== undefined && (await access.partnerName(tx, file.partnerId)) === '')
        throw new ConfigError('operator: No such partner.')
      const lines = () => readLines(path, hash)
      return accounts.pools.importFile(tx, { ...rest, hash, lines, report: bad.add })
    })
    await printed({ ...imported, inUse: isInUse(context, imported as ImportResult) })
  } catch (error) {
    if (sqlStateOf(error) === sqlState.lockNotAvailable)
      throw new ConfigError('operator: another import is running: repeat the command when it has ended')
    if (!(error instanceof IbanFileProblem)) throw error
    await printed({ pool: file.pool, imported: 0, bad: error.bad })
    throw new ConfigError(
      `operator: ${path} has ${error.bad} wrong lines, and nothing was imported. Correct them, or import the others with --skip-bad`,
    )
  }
}

/** Reports whether accounts take IBANs from the pool. Its country must be listed in IBAN_POOLS. */
const isInUse = ({ config }: Context, { country }: ImportResult): boolean =>
  country !== null && config.IBAN_POOLS.includes(country)

/**
 * Characters of a line that are read, at most. A line with an IBAN and a BIC has 48, and a longer one is bad anyway.
 */
const lineCharsMax = 256
const lineFeed = 0x0a

/** Computes the SHA-256 of a file. Throws a ConfigError. */
async function hashFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  try {
    for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  } catch (error) {
    rethrowFileError(path)(error)
  }
  return hash.digest('hex')
}

/**
 * Reads lines without line ends and byte order mark. IBANs are ASCII: other characters make a line bad in any
 * encoding. Throws a ConfigError if the hash of the file differs.
 */
async function* readLines(path: string, fileHash: string): AsyncGenerator<string> {
  const hash = createHash('sha256')
  let kept = ''
  let isFirst = true
  const keep = (text: string) => {
    kept = (kept + text).slice(0, lineCharsMax)
  }
  const take = (): string => {
    const line = (isFirst ? kept.replace(/^\u00EF\u00BB\u00BF/, '') : kept).replace(/\r$/, '')
    ;[kept, isFirst] = ['', false]
    return line
  }
  const chunks = createReadStream(path)
  try {
    for await (const each of chunks) {
      const chunk = each as Buffer
      hash.update(chunk)
      let from = 0
      for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, from)) {
        keep(chunk.toString('latin1', from, Math.min(at, from + lineCharsMax)))
        from = at + 1
        yield take()
      }
      keep(chunk.toString('latin1', from, Math.min(chunk.length, from + lineCharsMax)))
    }
  } finally {
    chunks.destroy()
  }
  if (kept !== '') yield take()
  if (hash.digest('hex') !== fileHash)
    throw new ConfigError(`operator: ${path} was changed during the import: repeat it`)
}

type BadLines = {
  readonly clear: () => Promise<void>
  readonly add: (lines: readonly BadLine[]) => Promise<void>
  /** Chunks of a JSON array without its brackets. */
  readonly read: () => AsyncIterable<string>
}

/**
 * Stores bad lines on disk until the transaction has ended, because a slow reader of the report would hold it open.
 * Every line of the file may be bad.
 */
async function withBadLines<T>(work: (lines: BadLines) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-ibans-'))
  let file: FileHandle | undefined
  try {
    file = await open(join(folder, 'bad.jsonl'), 'w+', 0o600)
    return await work(createBadLines(file))
  } finally {
    await file?.close()
    await rm(folder, { recursive: true, force: true })
  }
}

function createBadLines(file: FileHandle): BadLines {
  let count = 0
  let bytes = 0
  return {
    clear: async () => {
      ;[count, bytes] = [0, 0]
      await file.truncate(0)
    },
    add: async (lines) => {
      const text = lines.map((line) => `${count++ === 0 ? '' : ','}\n${JSON.stringify(line)}`).join('')
      bytes += (await file.write(text, bytes)).bytesWritten
    },
    read: () => file.createReadStream({ start: 0, encoding: 'utf8', autoClose: false }) as AsyncIterable<string>,
  }
}

/** Maximum size of a file. The directory of all SEPA banks has about 10 MB. */
const fileBytesMax = 64 * 1024 * 1024

/** Reads a whole UTF-8 file. Throws a one-line ConfigError. */
async function readText(file: string): Promise<string> {
  try {
    const { size } = await stat(file)
    if (size > fileBytesMax) throw new Error(`is larger than ${fileBytesMax} bytes`)
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(file))
  } catch (error) {
    return rethrowFileError(file)(error)
  }
}
