/** Compares the configured master keys with those that sealed the values of a database. */
import { timingSafeEqual } from 'node:crypto'
import { type Clock, createSealer, deriveKey, masterKeyId } from '../kernel/index.ts'
import type { Database, Tx } from '../postgres/index.ts'
import { secretContext } from './credentials.ts'
import * as store from './store.ts'

/**
 * `unused`: nothing is sealed yet. `open`: every value can be opened. `partly`: some values are sealed under a key that is
 * not configured. `closed`: no value can be opened.
 */
export type MasterKeyState = 'unused' | 'open' | 'partly' | 'closed'

type MasterKeys = readonly [Uint8Array, ...Uint8Array[]]

const deriveCheckValue = (key: Uint8Array) => deriveKey(key, 'master-key-check')

/** Reads the state of the master key. Works before the migrations: a database without the tables is `unused`. */
export async function masterKeyState(tx: Tx, keys: MasterKeys): Promise<MasterKeyState> {
  const tables = await store.existingTables(tx)
  const recorded = tables.masterKeys ? await store.masterKeys(tx) : []
  if (recorded.length > 0) return combineStates(recorded.map((row) => keys.some((key) => matchesKey(row, key))))
  // The database has a version that did not record its keys, so one value of each key is opened.
  const samples = tables.serviceAccounts ? await store.sealedSamples(tx) : []
  const sealer = createSealer(keys)
  return samples.length === 0 ? 'unused' : combineStates(samples.map((sample) => opens(sealer, sample)))
}

/** Records the key that seals, and the earlier keys that may have sealed values. Only for the states `unused` and `open`. */
export async function recordMasterKeys(db: Database, keys: MasterKeys, clock: Clock): Promise<void> {
  // Every start and every command calls this. Without a lock they do not wait for each other.
  if ((await store.masterKeys(db)).some((row) => matchesKey(row, keys[0]))) return
  await db.transaction(async (tx) => {
    // If two processes start first with different keys, the second must see the row of the first.
    await store.lockMasterKeys(tx)
    const state = await masterKeyState(tx, keys)
    if (state === 'partly' || state === 'closed') return
    const recorded = await store.masterKeys(tx)
    const samples = recorded.length > 0 ? [] : await store.sealedSamples(tx)
    const [sealing, ...others] = keys
    const used = others.filter((key) => samples.some((sample) => opens(createSealer([key]), sample)))
    for (const key of [sealing, ...used])
      await store.insertMasterKey(tx, { keyId: masterKeyId(key), checkValue: deriveCheckValue(key) }, clock.now())
  })
}

function combineStates(found: readonly boolean[]): MasterKeyState {
  if (found.every(Boolean)) return 'open'
  return found.some(Boolean) ? 'partly' : 'closed'
}

function matchesKey({ checkValue }: store.MasterKeyRow, key: Uint8Array): boolean {
  const expected = deriveCheckValue(key)
  return checkValue.length === expected.length && timingSafeEqual(checkValue, expected)
}

function opens(sealer: ReturnType<typeof createSealer>, { partnerId, id, sealed }: store.SealedSample): boolean {
  try {
    sealer.open(sealed, secretContext(partnerId, id))
    return true
  } catch {
    return false
  }
}
