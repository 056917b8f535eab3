// Runs the public suite of tests for HTTP caches on a pipeline with a disk cache, and prints the tests that fail and
// the counts of each kind.
//
//     node cache-suite.mjs SUITE PROGRAM [TEST]      SUITE: a checkout of http-tests/cache-tests; PROGRAM: CacheSuite
//
// The suite's own client and server run. Only requests for tests pass through the program instead of Node's fetch.
// Tests of shared caches and of caches in front of an origin are left out.

import { spawn } from 'node:child_process'
import fs from 'node:fs'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import readline from 'node:readline'

const [suite, program] = [path.resolve(process.argv[2]), path.resolve(process.argv[3])]
const only = process.argv[4]
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'inflight-cache-suite-'))
const load = file => import(path.join(suite, file))

// The suite's client composes an interceptor with an agent of the package undici to see interim responses.
globalThis.SuiteAgent = class {
  compose (interceptor) {
    return heads => interceptor((options, handler) => {
      for (const head of heads) handler.onResponseStart({}, head.status, Object.fromEntries(lowercased(head)), '')
    })({}, {})
  }
}
const modules = path.join(suite, 'node_modules', 'undici')
fs.mkdirSync(modules, { recursive: true })
fs.writeFileSync(path.join(modules, 'index.mjs'), 'export const Agent = globalThis.SuiteAgent\n')
fs.writeFileSync(path.join(modules, 'package.json'), '{"type": "module", "exports": "./index.mjs"}\n')

const lowercased = head => head.fields.map(([name, value]) => [name.toLowerCase(), value])

const port = await new Promise(resolve => {
  const probe = net.createServer().listen(0, 'localhost', () => {
    const { port } = probe.address()
    probe.close(() => resolve(port))
  })
})
const server = spawn('node', ['test-engine/server/server.mjs'], {
  cwd: suite,
  stdio: ['ignore', 'pipe', 'inherit'],
  env: {
    ...process.env,
    npm_config_protocol: 'http',
    npm_config_port: port,
    npm_config_pidfile: path.join(folder, 'server.pid')
  }
})
await new Promise(resolve => readline.createInterface({ input: server.stdout }).once('line', resolve))

const client = spawn(program, [path.join(folder, 'cache')], { stdio: ['pipe', 'pipe', 'inherit'] })
const pending = new Map()
readline.createInterface({ input: client.stdout }).on('line', line => {
  const response = JSON.parse(line)
  pending.get(response.id)?.(response)
  pending.delete(response.id)
})

let lastID = 0
const nodeFetch = globalThis.fetch
globalThis.fetch = async (url, init = {}) => {
  if (!url.includes('/test/')) return nodeFetch(url, init)
  const id = ++lastID
  const response = await new Promise((resolve, reject) => {
    init.signal?.addEventListener('abort', () => reject(new DOMException('timed out', 'AbortError')))
    pending.set(id, resolve)
    client.stdin.write(JSON.stringify({
      id,
      url,
      method: init.method ?? 'GET',
      fields: init.headers.map(([name, value]) => [name, String(value)]),
      body: init.body,
      followsRedirects: init.redirect !== 'manual',
      refreshes: init.cache === 'no-cache'
    }) + '\n')
  })
  if (response.error) throw new TypeError(response.error)
  init.dispatcher?.(response.interimHeads)
  // Node's `Response` refuses statuses and bodies that the suite uses.
  return { status: response.head.status, headers: new Headers(response.head.fields), text: async () => response.body }
}

const { default: suites } = await load('tests/index.mjs')
// Beside tests of shared caches, the suite skips in browsers what their fetch does not show.
const isShared = test => test.browser_skip && !/^(conditional|interim|status)/.test(test.id)
for (const each of suites) {
  each.tests = each.tests.filter(test => !test.cdn_only && !isShared(test) && (!only || test.id === only))
  for (const test of each.tests) test.browser_skip = false
}
const { runTests, getResults } = await load('test-engine/client/runner.mjs')
await runTests(suites, true, `http://localhost:${port}`)

const counts = {}
for (const { kind = 'required', id } of suites.flatMap(each => each.tests)) {
  const result = getResults()[id]
  counts[kind] ??= { passed: 0, of: 0 }
  counts[kind].of += 1
  if (result === true) counts[kind].passed += 1
  else console.log(`${kind}  ${id}  ${result.join(': ')}`)
}
console.log(counts)
client.stdin.end()
server.kill()
client.on('exit', () => {
  fs.rmSync(folder, { recursive: true })
  process.exit()
})
