import assert from 'node:assert/strict'
import { test } from 'node:test'
import { browserName } from './browsers.ts'

test('names browsers and systems as people do', () => {
  const named = {
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:146.0) Gecko/20100101 Firefox/146.0': 'Firefox on Windows',
    'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15':
      'Safari on Mac',
    'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1':
      'Safari on iPhone',
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0':
      'Edge on Windows',
    'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36':
      'Chrome on Linux',
    'Mozilla/5.0 (Linux; Android 15; Pixel 9) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36':
      'Chrome on Android',
    'curl/8.5.0': 'curl',
    node: 'node',
    '': '',
    '"><script>': '',
  }
  for (const [userAgent, name] of Object.entries(named))
    assert.equal(browserName(userAgent, '{browser} on {system}'), name, userAgent)
})
