/** Uploads: files of one person that the console checks, lets the person correct, and sends. */
import { ownJson } from '@partner-payments/wire'
import { notFound } from '../../kernel/api/index.ts'
import { after, type Clock, dayMs, minuteMs, newId, type Sealer } from '../../kernel/index.ts'
import type { Database, SealedColumn } from '../../postgres/index.ts'
import { createTurns, defineJob, type Job } from '../../postgres/jobs/index.ts'
import type { Signed } from './member-deps.ts'
import * as store from './store-uploads.ts'

export type UploadKind = store.UploadRow['kind']

/** `content`: undefined if it was sent, and `resultId` names what was made of it. */
export type Upload<Content> = Pick<store.UploadRow, 'id' | 'revision' | 'resultId' | 'createdAt' | 'expiresAt'> & {
  readonly content: Content | undefined
}

/** The right to send an upload, for one request at a time. */
export type SendingLease = { readonly id: string; readonly leaseId: string }

export type Uploads = {
  /** Keeps a file for a week and returns its id. The oldest one goes if the person has too many of the kind. */
  readonly keep: (signed: Owner, kind: UploadKind, content: unknown) => Promise<string>
  /** Refuses: not_found (also another person's, or one that has expired). */
  readonly find: <Content>(signed: Owner, kind: UploadKind, id: string) => Promise<Upload<Content>>
  /** Newest first, without those that were sent. */
  readonly unsent: (signed: Owner, kind: UploadKind) => Promise<readonly Pick<store.UploadRow, 'id' | 'createdAt'>[]>
  /** Replaces the content of an upload that is not being sent. False: it was changed, sent or leased meanwhile. */
  readonly replace: (
    signed: Owner,
    upload: { readonly id: string; readonly revision: number },
    content: unknown,
  ) => Promise<boolean>
  /** Undefined: it was changed or sent meanwhile, or another request sends it. The lease of a dead process ends by itself. */
  readonly lease: (
    signed: Owner,
    upload: { readonly id: string; readonly revision: number },
  ) => Promise<SendingLease | undefined>
  readonly release: (signed: Owner, lease: SendingLease) => Promise<void>
  /** Deletes the content, and keeps what was made of it, so that a second send leads there. */
  readonly finish: (signed: Owner, lease: SendingLease, resultId: string) => Promise<void>
  /** Refuses: not_found. */
  readonly remove: (signed: Owner, kind: UploadKind, id: string) => Promise<void>
  /** Deletes what has expired. Returns how many. */
  readonly expireStep: () => Promise<number>
}

type Owner = Pick<Signed, 'caller'>

/** Long enough for a file that is prepared on Friday and sent on Thursday; it holds names and accounts. */
const keptMs = 7 * dayMs
const perPersonMax = 20
/** Longer than the payees of a file take to be made. */
const leaseMs = 3 * minuteMs
const expiredPerStepMax = 1000

const contextOf = (partnerId: string, id: string) => ['users.uploads', partnerId, id]

export const sealedUploads: SealedColumn = {
  table: 'users.uploads',
  column: 'content_sealed',
  key: { id: 'uuid' },
  contextOf: (partnerId, cell) => contextOf(partnerId, cell('id')),
}

type Deps = { readonly db: Database; readonly clock: Clock; readonly sealer: Sealer }

export function createUploads({ db, clock, sealer }: Deps): Uploads {
  const ownerOf = ({ caller }: Owner) => ({ partnerId: caller.partnerId, memberId: caller.serviceAccountId })
  const sealed = (partnerId: string, id: string, content: unknown) =>
    sealer.seal(JSON.stringify(content), contextOf(partnerId, id))
  return {
    keep: async (signed, kind, content) => {
      const owner = ownerOf(signed)
      const [id, now] = [newId(), clock.now()]
      const row = { ...owner, id, kind, contentSealed: sealed(owner.partnerId, id, content) }
      await db.transaction(async (tx) => {
        await store.insertUpload(tx, { ...row, createdAt: now, expiresAt: after(now, keptMs) })
        await store.deleteOldest(tx, owner, kind, perPersonMax)
      })
      return id
    },
    find: async <Content>(signed: Owner, kind: UploadKind, id: string) => {
      const owner = ownerOf(signed)
      const row = await store.uploadById(db, owner, kind, id, clock.now())
      if (row === undefined) throw notFound('upload')
      const { contentSealed, ...upload } = row
      const content =
        contentSealed === null
          ? undefined
          : ownJson<Content>(sealer.open(contentSealed, contextOf(owner.partnerId, id)))
      return { ...upload, content }
    },
    unsent: (signed, kind) => store.unsentOf(db, ownerOf(signed), kind, clock.now(), perPersonMax),
    replace: async (signed, { id, revision }, content) => {
      const owner = ownerOf(signed)
      const contentSealed = sealed(owner.partnerId, id, content)
      return (await store.replaceContent(db, owner, { id, revision, contentSealed }, clock.now())) === 1
    },
    lease: async (signed, { id, revision }) => {
      const now = clock.now()
      const lease = { id, revision, leaseId: newId(), until: after(now, leaseMs) }
      return (await store.leaseUpload(db, ownerOf(signed), lease, now)) === 1 ? lease : undefined
    },
    release: async (signed, lease) => {
      await store.releaseUpload(db, ownerOf(signed), lease)
    },
    finish: async (signed, lease, resultId) => {
      await store.finishUpload(db, ownerOf(signed), { ...lease, resultId }, clock.now())
    },
    remove: async (signed, kind, id) => {
      if ((await store.deleteUpload(db, ownerOf(signed), kind, id)) === 0) throw notFound('upload')
    },
    expireStep: createTurns(
      (afterId) => store.partnerWithExpired(db, afterId, clock.now()),
      (partnerId) => store.deleteExpired(db, partnerId, clock.now(), expiredPerStepMax),
    ),
  }
}

/** The job that deletes uploads whose time is over. */
export const uploadsJob = ({ expireStep }: Pick<Uploads, 'expireStep'>): Job =>
  defineJob({ name: 'users.uploads', due: store.uploadsDue, run: expireStep })
