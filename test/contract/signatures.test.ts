/** Refused signatures as a partner reads them: the missing header, the canonical string and the mistake. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { test } from 'node:test'
import { type Credentials, type JsonObject, success, textAt } from '../support/client.ts'
import { useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { readCredentials } from '../support/service.ts'
import { type MutatedCall, mutatedCalls, type SignedCall, signedCall } from '../support/signature-mutations.ts'

const service = await useService()
const production = await service.anotherProcess({ SIMULATIONS: 'off' })
const { client, credentials } = service
const rightShareMin = 0.95

/** A service account of its own, since the sandbox limits the diagnoses of each key. */
const account = async (): Promise<Credentials> => {
  const words = ['--partner', credentials.partnerId, '--name', 'Clumsy', '--permissions', 'all']
  return readCredentials(await service.operator('service-account', 'create', ...words))
}

type Refusal = { readonly status: number; readonly text: string; readonly json: JsonObject }

function sendTo(baseUrl: string, apiKey: string, call: SignedCall): Promise<Refusal> {
  const { hostname, port } = new URL(baseUrl)
  const { method, timestamp, nonce, signature, body } = call
  const path = call.query === '' ? call.path : `${call.path}?${call.query}`
  const headers = {
    ApiKey: apiKey,
    Timestamp: timestamp,
    Nonce: nonce,
    Signature: signature,
    'Content-Type': 'application/json',
  }
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, method, path, headers, agent: false }, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (part: string) => (text += part))
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, text, json: JSON.parse(text) as JsonObject }),
      )
    })
    outgoing.on('error', reject).end(body)
  })
}

/** The lines that the service must have built. */
function assertCanonical(text: string, { method, path, timestamp, nonce }: SignedCall, secret: string): void {
  const lines = text.split('\n')
  assert.equal(lines.length, 7)
  assert.deepEqual([lines[0], lines[1], lines[3], lines[4], lines[5]], [method, path, timestamp, nonce, '<API_SECRET>'])
  assert.ok(!text.includes(secret))
}

test('401 names each missing header', async () => {
  const names = ['ApiKey', 'Nonce', 'Timestamp', 'Signature']
  for (const { baseUrl } of [service, production])
    for (const missing of [['Nonce'], ['Signature', 'ApiKey'], names]) {
      const headers = Object.fromEntries(missing.map((name) => [name, undefined]))
      const to = baseUrl === service.baseUrl ? client : production.client
      const answer = await to.send({ method: 'GET', target: '/v1/accounts', headers })
      const problem = assertProblem(answer, { status: 401, code: 'signature_required' })
      const [said = ''] = textAt(problem, 'detail').split(' missing.')
      for (const name of names) assert.equal(said.includes(`\`${name}\``), missing.includes(name), `${name}: ${said}`)
    }
})

test('200 from the signature debugger: valid for a right signature, whose nonce remains unused', async () => {
  const call = signedCall(credentials, { method: 'GET', path: '/v1/accounts', query: 'b=2&a=1', body: '' })
  for (const round of [1, 2]) {
    const answer = success(await client.post('/v1/simulations/signature', call))
    assert.equal(answer.valid, true, `round ${round}`)
    assert.equal(answer.likelyMistake, undefined)
    assertCanonical(textAt(answer, 'canonicalString'), call, credentials.apiSecret)
    assert.equal(textAt(answer, 'canonicalString').split('\n')[2], 'a=1&b=2')
  }
  const used = signedCall(credentials, { method: 'GET', path: '/v1/accounts', query: '', body: '' })
  success(await client.post('/v1/simulations/signature', used))
  assert.equal((await sendTo(service.baseUrl, credentials.apiKey, used)).status, 200)
})

test('200 from the signature debugger: at least 95 % of 300 requests with one mistake are diagnosed correctly', async () => {
  const calls = mutatedCalls(credentials, service.baseUrl)
  assert.ok(calls.length >= 300, `${calls.length} requests`)
  const wrong: string[] = []
  for (const { name, expected, call } of calls) {
    const answer = success(await client.post('/v1/simulations/signature', call))
    assert.equal(answer.valid, false, name)
    assert.ok(!JSON.stringify(answer).includes(credentials.apiSecret))
    assert.match(textAt(answer, 'explanation'), /[\w`]\.$/)
    if (answer.likelyMistake !== expected) wrong.push(`${name}: ${expected}, named ${String(answer.likelyMistake)}`)
  }
  const share = 1 - wrong.length / calls.length
  assert.ok(share >= rightShareMin, `${(share * 100).toFixed(1)} % are named right:\n${wrong.join('\n')}`)
})

test('200 from the signature debugger: the canonical string of the client shows the line that differs', async () => {
  const base = { method: 'GET', path: '/v1/accounts', query: '', body: '' }
  const other = { ...signedCall({ ...credentials, apiSecret: 'a secret of another account' }, base) }
  const without = success(await client.post('/v1/simulations/signature', other))
  assert.equal(without.likelyMistake, 'canonical_string')
  const lines = textAt(without, 'canonicalString').split('\n').with(5, 'a secret of another account')
  const compared = success(
    await client.post('/v1/simulations/signature', { ...other, canonicalString: lines.join('\n') }),
  )
  assert.equal(compared.likelyMistake, 'secret_spelling')
})

test('401 in the sandbox shows the canonical string with the secret masked, and the likely mistake', async () => {
  const own = await account()
  const all = mutatedCalls(own, service.baseUrl)
  const first = [...Map.groupBy(all, (mutated) => mutated.expected).values()].map(([mutated]) => mutated as MutatedCall)
  const secondAccount = await account()
  const others = mutatedCalls(secondAccount, service.baseUrl)
  for (const [index, mutated] of first.entries()) {
    const isFirst = index < 15
    const { apiKey, apiSecret } = isFirst ? own : secondAccount
    const { name, expected, call } = isFirst ? mutated : (others.find((each) => each.name === mutated.name) ?? mutated)
    const { status, text, json } = await sendTo(service.baseUrl, apiKey, call)
    assert.equal(status, 401, name)
    assert.equal(json.likelyMistake, expected, `${name}: ${text}`)
    assertCanonical(textAt(json, 'canonicalString'), call, apiSecret)
    assert.ok(!text.includes(apiSecret))
  }
})

test('401 in the sandbox stops naming mistakes of a key that sends many wrong signatures', async () => {
  const own = await account()
  const [mutated] = mutatedCalls(own, service.baseUrl)
  assert.ok(mutated)
  const answers = await Promise.all(Array.from({ length: 60 }, () => sendTo(service.baseUrl, own.apiKey, mutated.call)))
  const named = answers.filter(({ json }) => 'canonicalString' in json).length
  assert.ok(named > 0 && named < 60, `${named} of 60`)
  for (const { json } of answers) assert.equal(json.code, 'signature_invalid')
})

test('401 to an unknown key has no canonical string, in the sandbox as well', async () => {
  const [mutated] = mutatedCalls(credentials, service.baseUrl)
  assert.ok(mutated)
  const { json } = await sendTo(service.baseUrl, `${credentials.apiKey.slice(0, -4)}aaaa`, mutated.call)
  assert.equal(json.code, 'signature_invalid')
  assert.ok(!('canonicalString' in json) && !('likelyMistake' in json))
})

test('401 without simulations shows neither the canonical string nor a mistake that depends on the key', async () => {
  const details = new Set<string>()
  for (const { name, call } of mutatedCalls(credentials, production.baseUrl)) {
    const { json } = await sendTo(production.baseUrl, credentials.apiKey, call)
    assert.equal(json.status, 401, name)
    assert.ok(!('canonicalString' in json) && !('likelyMistake' in json), name)
    const unknown = await sendTo(production.baseUrl, `${credentials.apiKey.slice(0, -4)}aaaa`, call)
    assert.equal(unknown.json.detail, json.detail, name)
    details.add(textAt(json, 'detail'))
  }
  assert.ok(details.size > 1, 'what the headers alone show is named')
  const answer = await production.client.post(
    '/v1/simulations/signature',
    signedCall(credentials, { method: 'GET', path: '/v1/accounts', query: '', body: '' }),
  )
  assertProblem(answer, { status: 404, code: 'not_found' })
})
