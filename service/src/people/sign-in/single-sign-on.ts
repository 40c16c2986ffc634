/** Single sign-on by OpenID Connect Core 1.0: the request to a provider in a browser, and the check of its answer. */
import { createHash } from 'node:crypto'
import { Email, ownJson, selectUntrustedFields, singleLine, Type } from '@partner-payments/wire'
import type * as oidc from 'openid-client'
import { after, type Clock, hourMs, randomBytes, type Sealer, secondMs } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import * as rules from './rules.ts'
import * as identities from './store.ts'

export type SignOnProvider = {
  /** The URL of the provider, as in its metadata and its claim `iss`. */
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  /** The claim with a person's groups or roles. Null: the provider does not give roles. */
  readonly roleClaim: string | null
}

/** The reason why a person signs in at the provider. */
export type SignOnPurpose =
  | { readonly kind: 'sign in'; readonly next: string }
  /** Accepts the invitation of a link. */
  | { readonly kind: 'join'; readonly token: string }
  /** Connects the provider with the account of a person who is signed in. */
  | { readonly kind: 'connect'; readonly memberId: string }

/** The claims of the provider about a person. */
export type ProviderClaims = {
  readonly issuer: string
  readonly subject: string
  /** The address as the provider spells it. Null: the provider does not give one. */
  readonly email: string | null
  /** True if the provider states that it verified the address. Null: it does not state it. */
  readonly emailVerified: boolean | null
  readonly name: string | null
  /** The values of the claim for roles. */
  readonly roles: readonly string[]
}

/**
 * The reasons why a sign-in by the provider fails.
 * `expired`: the browser did not begin this sign-in, it took too long, or it was already answered. `refused`: the provider refused it, or its answer
 * is invalid. `unreachable`: the provider did not answer. `off`: there is no provider. `unknown`: no account is connected. `taken`: another account
 * is connected. `address`: the provider and the invitation name different addresses. `role`: the provider does not give the role. `required`: the
 * person must sign in by the provider. `invited`: the address has an invitation, and the person must open its link.
 */
type SignOnFailure =
  | 'expired'
  | 'refused'
  | 'unreachable'
  | 'off'
  | 'unknown'
  | 'taken'
  | 'address'
  | 'role'
  | 'required'
  | 'invited'

export class SignOnFailed extends Error {
  override readonly name = 'SignOnFailed'
  readonly reason: SignOnFailure
  constructor(reason: SignOnFailure, cause?: unknown) {
    super(`the single sign-on failed: ${reason}`, { cause })
    this.reason = reason
  }
}

/** A valid answer of a provider. The caller records `asked` in the transaction of the effect, so that the answer is used once. */
export type SignOnAnswer = {
  readonly purpose: SignOnPurpose
  readonly proved: ProviderClaims
  readonly asked: { readonly digest: Buffer; readonly expiresAt: Date }
}

export type SingleSignOn = {
  /** Begins a sign-in at a provider. The caller stores `attempt` in a cookie of the browser. Throws SignOnFailed (`unreachable`). */
  readonly begin: (
    realmId: string,
    provider: SignOnProvider,
    purpose: SignOnPurpose,
  ) => Promise<{ readonly url: string; readonly attempt: string }>
  /** Verifies the answer in the query of the redirect. Throws SignOnFailed (`expired`, `refused`, `unreachable`). */
  readonly finish: (
    realmId: string,
    provider: SignOnProvider,
    given: { readonly attempt: string; readonly query: string },
  ) => Promise<SignOnAnswer>
  /** Records that an answer was used. False: it was used before. */
  readonly answer: (tx: Tx, realmId: string, asked: SignOnAnswer['asked']) => Promise<boolean>
  readonly findMember: typeof identities.findMember
  readonly connect: typeof identities.connectIdentity
  readonly connectedSince: typeof identities.findConnectionTime
  readonly recordUse: typeof identities.recordIdentityUse
}

export type SingleSignOnDeps = {
  readonly clock: Clock
  readonly sealer: Sealer
  /** Returns the redirect URI of a realm. Each realm has its own, so that a provider cannot answer for another (RFC 9700, section 4.4). */
  readonly redirectUri: (realmId: string) => string
  /**
   * Waits for the provider within the realm's budget of requests, and refuses at once beyond it, because anybody may begin a sign-in and a
   * provider may not answer. `work` makes all requests with `fetch`.
   */
  readonly atProvider: <T>(realmId: string, host: string, work: () => Promise<T>) => Promise<T>
  /** Sends a request within limits of time and size. Does not follow redirects. */
  readonly fetch: (url: string, options: oidc.CustomFetchOptions) => Promise<Response>
  /** True if a provider on this machine may work without TLS. */
  readonly allowHttp: boolean
}

/** The sealed text of the cookie. */
type Attempt = {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly issuer: string
  readonly clientId: string
  readonly purpose: SignOnPurpose
  readonly until: string
}

const secretBytes = 32
const contextOf = (realmId: string) => ['sign_in.single_sign_on', realmId]
const digestOf = (state: string) => createHash('sha256').update(`single sign-on\n${state}`).digest()
/** The provider must have authenticated the person within this time, because a longer unused session may not show money. */
const maxAgeSeconds = rules.moneyIdleMs / secondMs

export function createSingleSignOn(deps: SingleSignOnDeps): SingleSignOn {
  const { clock, sealer, redirectUri } = deps
  const configurations = createConfigurations(deps)
  const atProvider = async <T>(realmId: string, { issuer }: SignOnProvider, work: () => Promise<T>): Promise<T> => {
    try {
      return await deps.atProvider(realmId, new URL(issuer).host, work)
    } catch (error) {
      throw error instanceof SignOnFailed ? error : new SignOnFailed('unreachable', error)
    }
  }
  return {
    findMember: identities.findMember,
    connect: identities.connectIdentity,
    connectedSince: identities.findConnectionTime,
    recordUse: identities.recordIdentityUse,
    begin: async (realmId, provider, purpose) => {
      const client = await import('openid-client')
      const configuration =
        configurations.known(realmId, provider) ??
        (await atProvider(realmId, provider, () => configurations.read(realmId, provider)))
      const [state, nonce, verifier] = [random(), random(), random()]
      const until = after(clock.now(), rules.challengeMs).toISOString()
      const { issuer, clientId } = provider
      const attempt: Attempt = { state, nonce, verifier, issuer, clientId, purpose, until }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri(realmId),
        scope: 'openid email profile',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
        state,
        nonce,
        max_age: String(maxAgeSeconds),
      })
      return {
        url: url.href,
        attempt: sealer.seal(JSON.stringify(attempt), contextOf(realmId)).toString('base64url'),
      }
    },
    finish: async (realmId, provider, given) => {
      const attempt = readAttempt(sealer, realmId, given.attempt)
      const expiresAt = new Date(attempt?.until ?? 0)
      if (attempt === undefined || expiresAt <= clock.now()) throw new SignOnFailed('expired')
      if (attempt.issuer !== provider.issuer || attempt.clientId !== provider.clientId)
        throw new SignOnFailed('expired')
      // The answer belongs to another sign-in of this browser, for example in another tab, or is forged.
      if (new URLSearchParams(given.query).get('state') !== attempt.state) throw new SignOnFailed('expired')
      const url = new URL(redirectUri(realmId))
      url.search = given.query
      const proved = await atProvider(realmId, provider, async () =>
        prove(await configurations.read(realmId, provider), provider, attempt, { url, now: clock.now() }),
      )
      return { purpose: attempt.purpose, proved, asked: { digest: digestOf(attempt.state), expiresAt } }
    },
    answer: (tx, realmId, { digest, expiresAt }) =>
      identities.recordChallengeAnswer(tx, realmId, digest, { expiresAt, now: clock.now() }),
  }
}

const random = () => Buffer.from(randomBytes(secretBytes)).toString('base64url')

function readAttempt(sealer: Sealer, realmId: string, sealed: string): Attempt | undefined {
  try {
    return ownJson<Attempt>(sealer.open(Buffer.from(sealed, 'base64url'), contextOf(realmId)))
  } catch {
    return undefined
  }
}

/** Exchanges the code for tokens, and checks signature, issuer, audience, nonce, times and the time of the authentication. */
async function prove(
  configuration: oidc.Configuration,
  { roleClaim, issuer }: SignOnProvider,
  { state, nonce, verifier }: Attempt,
  { url, now }: { readonly url: URL; readonly now: Date },
): Promise<ProviderClaims> {
  const client = await import('openid-client')
  const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, maxAge: maxAgeSeconds }
  try {
    const tokens = await client.authorizationCodeGrant(configuration, url, { ...checks, idTokenExpected: true })
    const id = tokens.claims()
    if (id === undefined || id.iss !== issuer || !isPast(now, [id.iat, id['auth_time']]))
      throw new SignOnFailed('refused')
    // Some providers put only the subject into the token (OpenID Connect Core, section 5.4).
    const isWhole = id['email'] !== undefined && (roleClaim === null || id[roleClaim] !== undefined)
    const isAsked = !isWhole && configuration.serverMetadata().userinfo_endpoint !== undefined
    const more = isAsked ? await client.fetchUserInfo(configuration, tokens.access_token, id.sub) : {}
    const claims: Readonly<Record<string, unknown>> = { ...more, ...id }
    const subject = selectUntrustedFields(id.sub, Subject)
    if (subject === undefined) throw new SignOnFailed('refused')
    return {
      issuer,
      subject,
      email: selectUntrustedFields(claims['email'], Email) ?? null,
      emailVerified: selectUntrustedFields(claims['email_verified'], Type.Boolean()) ?? null,
      name: selectUntrustedFields(claims['name'], Name) ?? null,
      roles: roleClaim === null ? [] : textsOf(claims[roleClaim]),
    }
  } catch (error) {
    if (error instanceof SignOnFailed) throw error
    throw new SignOnFailed(isUnreachable(error) ? 'unreachable' : 'refused', error)
  }
}

/** Maximum difference between the clocks of a provider and the service. */
const clockDifferenceSecondsMax = 30
/**
 * Reports whether all times are past, within the clock difference. The library accepts tokens from the future, whose
 * time of authentication would never be too old.
 */
const isPast = (now: Date, seconds: readonly unknown[]): boolean =>
  seconds.every((each) => Number(each) <= now.getTime() / secondMs + clockDifferenceSecondsMax)

/** OpenID Connect Core 1.0, section 2. */
const Subject = Type.String({ minLength: 1, maxLength: 255 })
const claimCharsMax = 1000
/** A claim of another type or length counts as absent. */
const Claim = Type.String({ minLength: 1, maxLength: claimCharsMax })
/** Approvers and mails show the name, like that of an invitation. */
const Name = singleLine(claimCharsMax)
/** A person has at most a few hundred groups. Further ones are not read. */
const rolesMax = 1000
const textsOf = (value: unknown): readonly string[] =>
  (Array.isArray(value) ? value : [value])
    .slice(0, rolesMax)
    .flatMap((each: unknown) => selectUntrustedFields(each, Claim) ?? [])

/** Reports whether the provider is unreachable. The library does not have its own code for errors of fetch. */
const isUnreachable = (error: unknown): boolean =>
  error instanceof Error &&
  (error instanceof TypeError || error.name === 'TimeoutError' || ('cause' in error && isUnreachable(error.cause)))

/**
 * The metadata and keys of a provider are read again after an hour. The library finds keys that the provider adds meanwhile. A realm has one
 * entry, so that a partner that often changes its provider cannot evict the entries of others.
 */
const configurationMs = hourMs
const configurationsMax = 1000

type CachedConfiguration = {
  readonly digest: string
  readonly until: Date
  readonly asked: Promise<oidc.Configuration>
  /** Undefined: the provider has not answered yet. */
  configuration: oidc.Configuration | undefined
}

function createConfigurations({ clock, fetch, allowHttp }: SingleSignOnDeps) {
  const known = new Map<string, CachedConfiguration>()
  const discover = async ({ issuer, clientId, clientSecret }: SignOnProvider): Promise<oidc.Configuration> => {
    const client = await import('openid-client')
    const url = new URL(issuer)
    const isLoopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
    const execute = allowHttp && isLoopback && url.protocol === 'http:' ? [client.allowInsecureRequests] : []
    try {
      const found = await client.discovery(url, clientId, clientSecret, undefined, {
        execute: [client.enableNonRepudiationChecks, ...execute],
        [client.customFetch]: fetch,
      })
      const { token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] } = found.serverMetadata()
      if (methods.includes('client_secret_post')) return found
      const authentication = client.ClientSecretBasic(clientSecret)
      const configured = new client.Configuration(found.serverMetadata(), clientId, clientSecret, authentication)
      configured[client.customFetch] = fetch
      for (const apply of [client.enableNonRepudiationChecks, ...execute]) apply(configured)
      return configured
    } catch (error) {
      throw new SignOnFailed('unreachable', error)
    }
  }
  const find = (realmId: string, provider: SignOnProvider): CachedConfiguration | undefined => {
    const entry = known.get(realmId)
    return entry !== undefined && entry.until > clock.now() && entry.digest === digestOfProvider(provider)
      ? entry
      : undefined
  }
  return {
    /** Returns a cached configuration. Undefined: it must be read from the provider. */
    known: (realmId: string, provider: SignOnProvider) => find(realmId, provider)?.configuration,
    /** Reads the configuration. Concurrent callers of a realm share one request. */
    read: (realmId: string, provider: SignOnProvider): Promise<oidc.Configuration> => {
      const found = find(realmId, provider)
      if (found !== undefined) return found.asked
      const asked = discover(provider)
      const entry: CachedConfiguration = {
        digest: digestOfProvider(provider),
        until: after(clock.now(), configurationMs),
        asked,
        configuration: undefined,
      }
      known.delete(realmId)
      if (known.size >= configurationsMax) known.delete(known.keys().next().value ?? '')
      known.set(realmId, entry)
      asked.then(
        (configuration) => {
          entry.configuration = configuration
        },
        // After a failure the next caller asks the provider again.
        () => known.get(realmId) === entry && known.delete(realmId),
      )
      return asked
    },
  }
}

const digestOfProvider = (provider: SignOnProvider) =>
  createHash('sha256').update(JSON.stringify(provider)).digest('base64')
