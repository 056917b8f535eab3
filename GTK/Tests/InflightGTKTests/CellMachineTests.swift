import InflightGTK
import Testing
