# Active Record

require 'logger'
require 'active_record'
require 'pg'
require 'stringio'

# The runner copies the versions from this line into its table.
puts "# versions: activerecord #{ActiveRecord.version}, pg #{PG::VERSION}"

$count = $failed = 0

def test(name)
  $count += 1
  passed = yield
rescue StandardError => e
  error = e
ensure
  $failed += 1 unless passed
  puts "#{passed ? 'ok' : 'not ok'} #{$count} - #{name}"
  puts error.full_message(highlight: false).gsub(/^/, '# ') if error
end

KEY = /\A\h{8}-\h{4}-7\h{3}-[89ab]\h{3}-\h{12}\z/
ITEMS = %w[salt oil rice tea milk]

ActiveRecord::Base.establish_connection(adapter: 'postgresql')

# From 7.1 on schema.rb makes each schema, and CREATE EXTENSION then finds its own there.
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend(Module.new do
  def schema_names
    super - ['comb_internal']
  end
end)
ActiveRecord::Base.logger = nil

class MakeOrders < ActiveRecord::Migration[6.1]
  def change
    create_table :orders, id: :uuid, default: -> { 'comb_generate()' } do |t|
      t.bigint :number, null: false, default: -> { 'comb_snowflake()' }
      t.text :item, null: false, index: { unique: true }
      t.integer :amount, null: false, default: 1
      t.uuid :ref, null: false, default: -> { "comb_generate('rtcomb_sql')" }
    end
  end
end

class Order < ActiveRecord::Base
  self.implicit_order_column = 'id'
  scope :between, ->(since, till) { where('comb_during(orders.id, ?, ?)', since, till) }
  scope :during, ->(period) { where('id <@ tstzrange(?, ?)', period.begin, period.end) }
end

# What "rails db:schema:dump" writes
def schema
  stream = StringIO.new
  source = ActiveRecord.version < Gem::Version.new('7.2') ? Order.connection : Order.connection_pool
  ActiveRecord::SchemaDumper.dump(source, stream)
  stream.string
end

ActiveRecord::Migration.suppress_messages { MakeOrders.migrate(:up) }

first = nil
rows = nil
test('an insert gives the id back') { (first = Order.create!(item: 'bread')).id.match?(KEY) }

test('rows of one statement have keys in order') do
  made = Order.insert_all(ITEMS.map { |item| { item: item } }, returning: %w[id])
  ids = [first.id, *made.map { |row| row['id'] }]
  rows = Order.find(ids)
  ids.all?(KEY) && ids.size == 6 && ids == ids.sort
end

test('an upsert keeps the id') do
  made = Order.upsert({ item: 'bread', amount: 7 }, unique_by: :item, returning: %w[id amount])
  made.to_a == [{ 'id' => first.id, 'amount' => 7 }]
end

created = nil
test('the key has the time') do
  created = Order.where(id: first.id).pick(Arel.sql('comb_timestamp(id)'))
  created.is_a?(Time) && (Time.now - created).abs < 60
end

{ 'two timestamps' => ->(since, till) { Order.between(since, till) },
  'a range' => ->(since, till) { Order.during(since...till) } }.each do |name, period|
  test("a period by #{name}") do
    of = ->(since, till) { period.(since, till).order(:id).pluck(:item) }
    now = Time.now
    of.(now - 60, now + 60) == ['bread', *ITEMS] && of.(now - 7200, now - 3600) == [] &&
      of.(created, created + 0.001r).include?('bread') && of.(now - 3600, created) == []
  end
end

test('where(id: since..till) finds nothing') do
  Order.where(id: (Time.now - 60)..(Time.now + 60)).to_a == []
end

test('pages by the key') do
  seen = []
  after = '00000000-0000-0000-0000-000000000000'
  until (page = Order.where('id > ?', after).order(:id).limit(4).to_a).empty?
    seen.concat(page.map(&:item))
    after = page.last.id
  end
  seen == ['bread', *ITEMS] && Order.find_each(batch_size: 4).map(&:item) == seen
end

test('first and last are the oldest and the newest') do
  [Order.first.item, Order.last.item] == %w[bread milk]
end

test('a Snowflake keeps its digits') do
  rows.all? { |row| row.number > 2**53 && Order.find_by!(number: row.number) == row }
end

test('an error has its SQLSTATE and hint') do
  ActiveRecord::Base.connection.execute("SELECT comb_generate('sequential')")
rescue ActiveRecord::StatementInvalid => e
  result = e.cause.result
  result.error_field(PG::PG_DIAG_SQLSTATE) == '22023' &&
    result.error_field(PG::PG_DIAG_MESSAGE_HINT).start_with?('The layouts are uuidv7, ')
end

test('schema.rb has the table alone, and makes the same again') do
  before = schema
  Order.connection.drop_table(:orders)
  ActiveRecord::Schema.verbose = false
  eval(before)
  raise before unless before.scan(/create_\w+ "\w+"/) == ['create_table "orders"']
  before.include?('default: -> { "comb_generate()" }') && schema == before
end

puts "1..#{$count}"
exit($failed.zero?)
