/**
 * Receives files of a file-based bank: stores messages, matches their entries, and reports their meaning to settlement
 * (docs/decisions/0044-a-bank-by-files.md).
 */
import { Unreachable } from '../../api/index.ts'
import { tellAbsent } from './absent.ts'
import { createContinuity } from './continuity.ts'
import type { BankDeps, RemoteFile } from './deps.ts'
import { createLeases, type Lease, LeaseLost } from './lease.ts'
import { createOverdue } from './overdue.ts'
import { createSpool } from './spool.ts'
import { createTakeReleased } from './release.ts'
import { createAnswers, createTake, type Later } from './take.ts'
import { createWatch } from './watch.ts'

export type Incoming = {
  /** One round of work with the files of the bank. Returns how much was done; 0 rests. */
  readonly step: () => Promise<number>
}

const listMsMax = 60_000
/** A bank that fails to answer this often in a row is skipped until the next round. */
const unreachableMax = 3
/** Each one waits for the disk of the bank and of this process. */
const finishingMax = 8

/** Learns whether the bank answers. */
type Watched = { readonly answered: () => void; readonly failed: (error: unknown) => void }

export function createIncoming(deps: BankDeps, told?: Watched): Incoming {
  const { db, clock, log, rules, transport } = deps
  const connector = rules.id
  const underLease = createLeases({ db, clock, connector })
  const spool = createSpool(rules.archive)
  const watch = createWatch(clock)
  const answers = createAnswers(deps)
  const take = createTake(deps, spool, watch, answers)
  const takeReleased = createTakeReleased(deps, spool, answers)
  const overdue = createOverdue(deps)
  const continuity = createContinuity(deps)
  let isFirst = true
  /** True after a kill as well: files received before it were perhaps not checked. */
  let isUnchecked = true

  const takeAll = async (lease: Lease): Promise<number> => {
    const files = await transport.list(AbortSignal.timeout(listMsMax)).catch((error: unknown) => {
      told?.failed(error)
      throw error
    })
    told?.answered()
    const inOrder = files.toSorted(
      (a, b) => a.modifiedAt.getTime() - b.modifiedAt.getTime() || (a.name < b.name ? -1 : 1),
    )
    watch.keepOnly(new Set(files.map(({ name }) => name)))
    let taken = 0
    let unreachable = 0
    // One file that cannot be fetched or written delays no other.
    const failed = (file: RemoteFile, error: unknown) =>
      log.error({ err: error, connector, file: file.name }, 'bank file not processed')
    const finishing = createFinishing(failed)
    try {
      for (const file of inOrder) {
        try {
          if ((await take(lease, file, finishing.later)) !== 'left') taken += 1
          unreachable = 0
        } catch (error) {
          unreachable += error instanceof Unreachable ? 1 : 0
          if (error instanceof LeaseLost || unreachable >= unreachableMax) throw error
          failed(file, error)
        }
      }
    } finally {
      taken -= await finishing.ended()
    }
    return taken
  }

  const round = async (lease: Lease): Promise<number> => {
    if (isFirst) await spool.clean()
    isFirst = false
    const taken = (await takeReleased(lease)) + (await takeAll(lease))
    isUnchecked ||= taken > 0
    if (isUnchecked) {
      await continuity(lease)
      await tellAbsent(deps, lease)
    }
    isUnchecked = false
    return taken + (await overdue(lease))
  }

  return { step: async () => (await underLease(round)) ?? 0 }
}

/**
 * The last steps of files, which wait only for disks: several at once, while the next file is received. A failed one is
 * repeated when its file is listed again.
 */
function createFinishing(failed: (file: RemoteFile, error: unknown) => void): {
  readonly later: Later
  /** How many have failed. */
  readonly ended: () => Promise<number>
} {
  const open = new Set<Promise<void>>()
  let failures = 0
  return {
    later: async (file, work) => {
      while (open.size >= finishingMax) await Promise.race(open)
      const one: Promise<void> = work()
        .catch((error: unknown) => {
          failures += 1
          failed(file, error)
        })
        .finally(() => open.delete(one))
      open.add(one)
    },
    ended: async () => {
      await Promise.all(open)
      return failures
    },
  }
}
