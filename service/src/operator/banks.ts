/** Commands for file-based banks: sent files, the progress of a payment, and recalls. */
import { hash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { Refusal } from '../kernel/api/index.ts'
import { ConfigError } from '../app/config.ts'
import { operatorPartnerId } from '../cases/index.ts'
import { amountText } from '../kernel/index.ts'
import { instructionIdOf } from '../payouts/index.ts'
import type { Tx } from '../postgres/index.ts'
import { record, refusedInOneLine } from './changes.ts'
import type { CommandsOf, Context } from './context.ts'
import { decided } from './limits.ts'

export const bankCommands: CommandsOf<`bank ${string}` | 'payment end'> = {
  /** The newest files of each bank, newest first. */
  'bank files': async ({ service: { isoBanks } }, { connector }) => {
    const ids = connector === undefined ? isoBanks.connectors.map(({ id }) => id) : [connector]
    const files = (await Promise.all(ids.map(isoBanks.files))).flat()
    return files.map((file) => ({ ...file, payments: Number(file.payments) }))
  },

  'bank payment': async (context, options) => {
    const found = await context.service.isoBanks.payment(await instructionOf(context, options))
    if (found === undefined) throw new ConfigError('operator: no file-based bank has this payout')
    return { ...found, amount: amountText(found.amount, found.currency) }
  },

  'bank recall': async (context, options, call) => {
    const { staff, reason } = options
    const key = await instructionOf(context, options)
    const recorded = (tx: Tx) => record(context.service, tx, call)
    return refusedInOneLine(() => context.service.isoBanks.requestRecall({ ...key, reason, staff }, recorded))
  },

  /** Writes the letter by which people recall a payment at a bank that takes no files of recalls. */
  'bank recall letter': async (context, options) => {
    const file = options.to
    const key = await instructionOf(context, options)
    await writeFile(file, await refusedInOneLine(() => context.service.isoBanks.recallLetter(key)), {
      flag: 'wx',
    }).catch((error: Error) => {
      throw error instanceof ConfigError ? error : new ConfigError(`operator: --to ${file}: ${error.message}`)
    })
    return { file }
  },

  /** Records that the letter is sent, and closes its case. */
  'bank recall sent': async (context, options, call) => {
    const { service } = context
    const key = await instructionOf(context, options)
    return decided(context, call, async (tx) => {
      const recallId = await service.isoBanks.letterSent(tx, key)
      for (const found of await service.cases.openAbout(tx, key.partnerId, [recallId]))
        await service.decisions.resolveGone(tx, found, call.staff ?? 'operator', options.note)
      return { recallId }
    })
  },

  /** Records the bank's answer to the letter. */
  'bank recall answer': async (context, options, call) => {
    const key = await instructionOf(context, options)
    const { outcome, reason: code = null } = options
    if (code !== null && !/^[A-Z0-9]{4}$/.test(code))
      throw new ConfigError('operator: --reason must be a code of ISO 20022, such as NOAS')
    return decided(context, call, async (tx) => {
      await context.service.isoBanks.letterAnswered(tx, { ...key, accepted: outcome === 'accepted', code })
      return { outcome }
    })
  },

  /** Takes a file that was quarantined. Closes its case. */
  'bank file take': async (context, { id, note, staff }, call) => {
    const { service } = context
    return decided(context, call, async (tx) => {
      const found = await service.cases.byId(tx, operatorPartnerId, id)
      if (found === undefined || !releasable.has(found.kind))
        throw new Refusal('not_found', `Not a case of a file that can be taken: ${[...releasable].join(', ')}.`)
      const released = await service.isoBanks.releaseFile(tx, found.subject)
      if (!(await service.decisions.resolveGone(tx, found, staff, note)))
        throw new Refusal('validation_failed', 'The case has already been decided.')
      return { caseId: id, ...released }
    })
  },

  /** Cancels an entry that the bank does not have, such as one that a correction of a statement omits. Closes its case. */
  'bank entry cancel': async (context, { id, note, staff }, call) => {
    const { service } = context
    return decided(context, call, async (tx) => {
      const found = await service.cases.byId(tx, operatorPartnerId, id)
      if (found?.kind !== 'announced_missing')
        throw new Refusal('not_found', 'The case is not announced_missing, or its entry cannot be cancelled.')
      const cancelled = await service.cancelEntry(tx, found.subject)
      if (!(await service.decisions.resolveGone(tx, found, staff, note)))
        throw new Refusal('validation_failed', 'The case has already been decided.')
      return { caseId: id, ...cancelled }
    })
  },

  /** Ends a payment by the bank's written word, whose hash is recorded. That of a file-based bank has a file, which the word is about. */
  'payment end': async (context, options, call) => {
    const { outcome: end, payout } = options
    const evidence = await readEvidence(options.evidence)
    const key = await instructionOf(context, options)
    return decided(context, { ...call, typed: { ...call.typed, evidence } }, async (tx) => {
      const { isoBanks, payoutLife } = context.service
      if ((await isoBanks.payment(key)) !== undefined) await isoBanks.endPayment(tx, { ...key, end })
      else await payoutLife.endByWord(tx, { partnerId: key.partnerId, id: payout, end })
      return { partnerId: key.partnerId, payoutId: payout, outcome: end, evidence }
    })
  },
}

/** Kinds of cases about files that people may take. Of a file that cannot be read only its entries may be what is wrong. */
const releasable: ReadonlySet<string> = new Set(['message_differs', 'sum_differs', 'file_unreadable'])

/** The bank knows a payout by the id of its instruction. */
async function instructionOf(
  { service: { payouts } }: Context,
  { partner: partnerId, payout: id }: { readonly partner: string; readonly payout: string },
) {
  const payout = await refusedInOneLine(() => payouts.get(partnerId, id))
  return { partnerId, id: instructionIdOf(payout) }
}

const evidenceForm = / sha256:[0-9a-f]{64}$/
const evidenceBytesMax = 50_000_000

/** Reads a document of a bank: the name of its file, and its hash. A change that waited has both. */
export async function readEvidence(file: string): Promise<string> {
  if (evidenceForm.test(file)) return file
  const bytes = await readFile(file).catch((error: Error) => {
    throw new ConfigError(`operator: --evidence ${file}: ${error.message}`)
  })
  if (bytes.length === 0 || bytes.length > evidenceBytesMax)
    throw new ConfigError(`operator: --evidence ${file}: must have 1 to ${evidenceBytesMax} bytes`)
  return `${basename(file)} sha256:${hash('sha256', bytes)}`
}
