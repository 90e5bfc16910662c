# redis-rb.
require 'json'
require 'redis'
require 'timeout'

$stdout.sync = true

def target(n) = "https://example.com/ruby/#{n}"
def ok(step) = puts("ok #{step}")
def equal(got, want) = got == want || raise("got #{got.inspect}, want #{want.inspect}")

def fails(word)
  yield
rescue Redis::CommandError => e
  e.message.start_with?(word) || raise
else
  raise "no error, want #{word}"
end

def again
  give_up = Time.now + 20
  begin
    yield
  rescue Redis::BaseConnectionError
    raise if Time.now > give_up
    sleep 0.05
    retry
  end
end

connect = -> { Redis.new(host: ARGV[0], port: ARGV[1].to_i, id: 'matrix') }
client = connect.call
equal client.ping, 'PONG'
equal client.call(%w[CLIENT GETNAME]), 'matrix'
ok 'connect'

code = client.call(['SHORTEN', target('one')])
equal client.call(['SHORTEN', target('one')]), code
ok 'shorten'
equal client.call(['RESOLVE', code]), target('one')
equal client.call(%w[RESOLVE no-such-code]), nil
ok 'resolve'
equal client.get(code), target('one')
equal client.get('no-such-code'), nil
ok 'get'

codes = client.pipelined { |pipe| 1000.times { |i| pipe.call(['SHORTEN', target(i)]) } }
equal codes.uniq.size, 1000
equal client.get(codes[999]), target(999)
ok 'pipeline'

results = client.watch('ruby-multi') do
  client.multi do |tx|
    tx.set('ruby-multi', target('m'))
    tx.get('ruby-multi')
    tx.del('ruby-multi')
  end
end
equal results, ['OK', target('m'), 1]
ok 'multi'

seen = client.scan_each(count: 1000).to_a.uniq
seen.size >= 10_000 && seen.include?(code) || raise("SCAN gave #{seen.size}")
ok 'scan'

heard = Timeout.timeout(20) do
  subscriber = connect.call
  message = nil
  subscriber.subscribe("link:#{code}") do |on|
    on.subscribe { client.call(['BAN', code]) }
    on.message do |_, m|
      message = m
      subscriber.unsubscribe
    end
  end
  message
end
equal JSON.parse(heard)['event'], 'banned'
equal client.get(code), nil
fails('BANNED') { client.call(['RESOLVE', code]) }
ok 'ban'

fails('BADURL bad_scheme') { client.call(%w[SHORTEN ftp://example.com/]) }
equal client.ping, 'PONG'
equal client.info['redis_mode'], 'standalone'
ok 'error'

puts 'restart'
$stdin.gets
equal again { client.get(codes[2]) }, target(2)
ok 'reconnect'

client.quit
puts "done redis-rb #{Redis::VERSION}"
